#include "report/visualdl.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <protozero/pbf_reader.hpp>
#include <regex>

#include "base/error.h"
#include "support/temp_dir.h"

namespace octet {
namespace {

namespace fs = std::filesystem;
using Mode = VisualDLWriter::Mode;

struct Entry {
  std::string tag;
  std::int64_t step = 0, milliseconds = 0;
  float value = 0;
};

// What is in a log, up to a record that is not whole.
std::vector<Entry> read_log(const fs::path& path) {
  std::vector<Entry> entries;
  std::string file = read_file(path);
  for (std::size_t at = 0; at + 8 <= file.size();) {
    std::uint64_t length = 0;
    std::memcpy(&length, file.data() + at, 8);
    EXPECT_LE(at + 8 + length, file.size());
    protozero::pbf_reader record(file.data() + at + 8, length);
    EXPECT_TRUE(record.next(1));
    protozero::pbf_reader value = record.get_message();
    Entry entry;
    while (value.next()) {
      switch (value.tag()) {
        case 1:
          entry.step = value.get_int64();
          break;
        case 2:
          entry.tag = value.get_string();
          break;
        case 3:
          entry.milliseconds = value.get_int64();
          break;
        case 4:
          entry.value = value.get_float();
          break;
        default:
          value.skip();
      }
    }
    entries.push_back(entry);
    at += 8 + length;
  }
  return entries;
}

TEST(VisualDL, WritesRecordsAtOnce) {
  TempDir dir;
  VisualDLWriter log(dir / "deep/log");
  EXPECT_TRUE(std::regex_match(log.path().filename().string(), std::regex(R"(vdlrecords\.\d{10}\.log)")));
  log.add_scalar("loss", 3, 0.5);
  std::vector<Entry> entries = read_log(log.path());  // while the writer lives
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[0].tag, "meta_data_tag");
  EXPECT_EQ(entries[1].tag, "loss");
  EXPECT_EQ(entries[1].step, 3);
  EXPECT_EQ(entries[1].value, 0.5f);
  EXPECT_GT(entries[1].milliseconds, 1'500'000'000'000);
}

TEST(VisualDL, NewRunsGetNewFiles) {
  TempDir dir;
  VisualDLWriter first(dir.path()), second(dir.path());
  EXPECT_LT(first.path(), second.path());
}

TEST(VisualDL, ContinuesBehindTheLastWholeRecord) {
  TempDir dir;
  fs::path path;
  {
    VisualDLWriter log(dir.path(), Mode::kContinue);  // there is nothing to continue
    path = log.path();
    log.add_scalar("loss", 1, 0.5);
  }
  const std::string whole = read_file(path);
  for (const std::string& torn : {std::string(), std::string("\x05"),
                                  std::string("\xff\0\0\0\0\0\0\0abc", 11), std::string(8, '\xff')}) {
    write_file(path, whole + torn);
    VisualDLWriter log(dir.path(), Mode::kContinue);
    EXPECT_EQ(log.path(), path);
    log.add_scalar("loss", 2, 0.25);
    std::vector<Entry> entries = read_log(path);
    ASSERT_EQ(entries.size(), 3u);
    EXPECT_EQ(entries[2].step, 2);
  }
}

TEST(VisualDL, SaysWhatItCannotWrite) {
  TempDir dir;
  write_file(dir / "file", "");
  EXPECT_THROW(VisualDLWriter(dir / "file"), Error);
  EXPECT_THROW(VisualDLWriter(dir / "file/log"), Error);
}

}  // namespace
}  // namespace octet
