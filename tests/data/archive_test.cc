#include "data/archive.h"

#include <gmock/gmock.h>

#include "octet/error.h"
#include "support/archives.h"
#include "support/damage.h"
#include "support/graph_runner.h"
#include "support/temp_dir.h"

namespace octet {
namespace {

namespace fs = std::filesystem;
using octet::testing::error_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const ArchiveFiles kFiles = {
    {"top/", ""}, {"top/a.txt", "one"}, {"top/deep/b.bin", std::string(70000, 'x')}, {"top/empty", ""}};

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file()) names.push_back(entry.path().lexically_relative(folder).string());
  std::ranges::sort(names);
  return names;
}

std::string problem(const std::string& bytes, const ArchiveLimits& limits = {}) {
  TempDir dir;
  return error_of([&] { unpack(as_bytes(bytes), "a.zip", dir / "in/side", limits); });
}

TEST(Archive, AllKindsAreUnpacked) {
  for (const std::string& bytes : {make_zip(kFiles), make_tar(kFiles), make_tar_gz(kFiles)}) {
    TempDir dir;
    unpack(as_bytes(bytes), "a", dir.path());
    EXPECT_THAT(names_in(dir.path()), ElementsAre("top/a.txt", "top/deep/b.bin", "top/empty"));
    EXPECT_EQ(read_file(dir / "top/a.txt"), "one");
    EXPECT_EQ(read_file(dir / "top/deep/b.bin"), kFiles[2].second);
  }
  EXPECT_TRUE(is_archive_name("x/optic_disc_seg.zip"));
  EXPECT_TRUE(is_archive_name("STDC.tar.gz"));
  EXPECT_FALSE(is_archive_name("model.pdparams"));
}

TEST(Archive, NothingGoesOutsideOfTheFolder) {
  for (const char* name : {"../evil", "a/../../evil", "/tmp/evil", "..", "a\\..\\evil"}) {
    EXPECT_THAT(problem(make_zip({{name, "x"}})), HasSubstr("outside of the folder")) << name;
    EXPECT_THAT(problem(make_tar({{name, "x"}})), HasSubstr("outside of the folder")) << name;
  }
  EXPECT_THAT(problem(make_zip({{"link", "../../etc"}}, 0120777)), HasSubstr("is a link"));
  EXPECT_THAT(problem(make_tar({{"link", ""}}, '2', "/etc")), HasSubstr("is a link"));
  EXPECT_THAT(problem(make_tar({{"link", ""}}, '1', "x")), HasSubstr("is a link"));
  EXPECT_THAT(problem(make_tar({{"null", ""}}, '3')), HasSubstr("neither a file nor a folder"));
}

TEST(Archive, SizesAreBounded) {
  EXPECT_THAT(problem(make_zip(kFiles), {.bytes = 1000}), HasSubstr("more than 1000 bytes"));
  EXPECT_THAT(problem(make_tar_gz(kFiles), {.bytes = 1000}), HasSubstr("more than 1000 bytes"));
  EXPECT_THAT(problem(make_tar(kFiles), {.files = 2}), HasSubstr("more than 2 files"));
}

TEST(Archive, DamagedOnesAreErrors) {
  EXPECT_THAT(problem("something else"), HasSubstr("neither a zip nor a tar"));
  for (const std::string& good : {make_zip(kFiles), make_tar(kFiles), make_tar_gz(kFiles)})
    for (std::size_t size : {good.size() / 5, good.size() / 3, good.size() / 2, good.size() * 3 / 4})
      EXPECT_NE(problem(good.substr(0, size)), "") << size;
  std::string zip = make_zip({{"a", "hello"}});
  zip[zip.find("hello")] = 'j';
  EXPECT_THAT(problem(zip), HasSubstr("checksum"));
}

}  // namespace
}  // namespace octet
