#include "report/tensorboard.h"

#include <gmock/gmock.h>

#include <cstring>
#include <protozero/pbf_reader.hpp>
#include <regex>

#include "base/error.h"
#include "support/temp_dir.h"

namespace octet {
namespace {

struct Event {
  double wall_time = 0;
  std::int64_t step = 0;
  std::string version, tag;
  float value = -1;
};

// The records of a file, whose lengths and checksums must be right.
std::vector<Event> read_events(const std::filesystem::path& path) {
  std::vector<Event> events;
  const std::string file = read_file(path);
  for (std::size_t at = 0; at < file.size();) {
    std::uint64_t length = 0;
    std::uint32_t crc_of_length = 0, crc_of_event = 0;
    if (at + 12 > file.size()) throw Error("half a record");
    std::memcpy(&length, file.data() + at, 8);
    std::memcpy(&crc_of_length, file.data() + at + 8, 4);
    if (at + 16 + length > file.size()) throw Error("half a record");
    const std::string bytes = file.substr(at + 12, length);
    std::memcpy(&crc_of_event, file.data() + at + 12 + length, 4);
    EXPECT_EQ(crc_of_length, masked_crc32c(as_bytes(file.substr(at, 8))));
    EXPECT_EQ(crc_of_event, masked_crc32c(as_bytes(bytes)));
    at += 16 + length;

    Event event;
    protozero::pbf_reader reader(bytes);
    while (reader.next()) {
      if (reader.tag() == 1)
        event.wall_time = reader.get_double();
      else if (reader.tag() == 2)
        event.step = reader.get_int64();
      else if (reader.tag() == 3)
        event.version = reader.get_string();
      else if (reader.tag() == 5) {
        protozero::pbf_reader summary = reader.get_message();
        EXPECT_TRUE(summary.next(1));
        protozero::pbf_reader value = summary.get_message();
        while (value.next()) {
          if (value.tag() == 1)
            event.tag = value.get_string();
          else if (value.tag() == 2)
            event.value = value.get_float();
          else
            value.skip();
        }
      } else {
        reader.skip();
      }
    }
    events.push_back(event);
  }
  return events;
}

TEST(TensorBoard, ChecksumsAreThoseOfTheStandard) {
  // RFC 3720, B.4, and the usual check value.
  EXPECT_EQ(crc32c(as_bytes("123456789")), 0xe3069283u);
  EXPECT_EQ(crc32c(as_bytes(std::string(32, '\0'))), 0x8a9136aau);
  EXPECT_EQ(crc32c(as_bytes(std::string(32, '\xff'))), 0x62a8ab43u);
  // The length of the first record of files by TensorFlow, 24 bytes, has these bytes behind it.
  EXPECT_EQ(masked_crc32c(as_bytes(std::string("\x18\0\0\0\0\0\0\0", 8))), 0x224b7fa3u);
}

TEST(TensorBoard, WritesRecordsAtOnce) {
  TempDir dir;
  TensorBoardWriter log(dir / "deep/log");
  EXPECT_TRUE(std::regex_match(log.path().filename().string(),
                               std::regex(R"(events\.out\.tfevents\.\d{10}\.octet)")));
  log.add_scalar("train/loss", 3, 0.5);
  log.add_scalar("eval/top1", 1, 0.25);
  const std::vector<Event> events = read_events(log.path());  // while the writer lives
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[0].version, "brain.Event:2");
  EXPECT_EQ(events[1].tag, "train/loss");
  EXPECT_EQ(events[1].step, 3);
  EXPECT_EQ(events[1].value, 0.5f);
  EXPECT_GT(events[1].wall_time, 1.5e9);
  EXPECT_EQ(events[2].tag, "eval/top1");
}

TEST(TensorBoard, NewRunsGetNewFiles) {
  TempDir dir;
  const TensorBoardWriter first(dir.path()), second(dir.path());
  EXPECT_LT(first.path(), second.path());
}

TEST(TensorBoard, AFolderThatCanNotBeWrittenIsAnError) {
  EXPECT_THROW(TensorBoardWriter("/proc/nowhere"), Error);
}

}  // namespace
}  // namespace octet
