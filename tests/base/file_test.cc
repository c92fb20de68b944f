#include "base/file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <thread>

#include "support/graph_runner.h"
#include "support/temp_dir.h"

namespace octet {
namespace {

using testing::error_of;
using ::testing::HasSubstr;

int files_in(const TempDir& dir) {
  return static_cast<int>(std::distance(std::filesystem::directory_iterator(dir.path()), {}));
}

TEST(AtomicFiles, AppearTogetherOrNotAtAll) {
  TempDir dir;
  write_file(dir / "a", "old");
  {
    AtomicFiles files;
    files.begin(dir / "a");
    files.write("new");
    files.begin(dir / "b");
    files.write(std::string(1 << 20, 'x'));
    EXPECT_EQ(read_file(dir / "a"), "old");
  }
  EXPECT_EQ(files_in(dir), 1);  // gone without a commit, temporary names included
  AtomicFiles files;
  files.begin(dir / "a");
  files.write("new");
  files.begin(dir / "b");
  files.write(std::string(1 << 20, 'x'));
  files.write("y");
  files.commit();
  EXPECT_EQ(read_file(dir / "a"), "new");
  std::string both(1 << 20, 'x');
  both += 'y';
  EXPECT_EQ(read_file(dir / "b"), both);
  EXPECT_EQ(files_in(dir), 2);
  struct stat info {};
  ASSERT_EQ(::stat((dir / "a").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0400, 0400u);
}

TEST(AtomicFiles, WriteThroughWhatIsNoRegularFile) {
  TempDir dir;
  save_file("/dev/null", "x");
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
  const std::string pipe = dir / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  std::string got;
  std::thread reader([&] { got = read_file(pipe); });
  save_file(pipe, "through");
  reader.join();
  EXPECT_EQ(got, "through");
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
}

TEST(AtomicFiles, FollowLinks) {
  TempDir dir;
  std::filesystem::create_directory(dir / "there");
  write_file(dir / "there/file", "old");
  std::filesystem::create_symlink("there/file", dir / "link");
  std::filesystem::create_symlink("there/none", dir / "dangling");
  AtomicFiles files;
  files.begin(dir / "link");
  files.write("new");
  files.begin(dir / "dangling");
  files.write("first");
  files.begin(dir / "dangling");
  files.write("last");
  files.begin(dir / "plain");
  files.write("too");
  files.commit();
  EXPECT_TRUE(std::filesystem::is_symlink(dir / "link"));
  EXPECT_EQ(read_file(dir / "there/file"), "new");
  EXPECT_EQ(read_file(dir / "there/none"), "last");
  EXPECT_EQ(read_file(dir / "plain"), "too");
  EXPECT_EQ(files_in(dir), 4);
}

TEST(AtomicFiles, NameWhatCannotBeWritten) {
  TempDir dir;
  AtomicFiles files;
  EXPECT_THAT(error_of([&] { files.begin(dir / "no/such/folder/a"); }),
              HasSubstr("no/such/folder/a: cannot create"));
  EXPECT_THAT(error_of([&] { files.begin(dir.path()); }), HasSubstr("is a directory, expected a file name"));
}

TEST(MappedFile, OpensFilesOnly) {
  TempDir dir;
  EXPECT_THAT(error_of([&] { MappedFile file(dir / "nothing"); }),
              HasSubstr("nothing: cannot open: No such file"));
  EXPECT_THAT(error_of([&] { MappedFile file(dir.path()); }), HasSubstr("is a directory, expected a file"));
  EXPECT_THAT(error_of([&] { MappedFile file("/dev/null"); }), HasSubstr("is not a regular file"));
  write_file(dir / "empty", "");
  EXPECT_TRUE(MappedFile(dir / "empty").bytes().empty());
  write_file(dir / "text", "hello");
  MappedFile file(dir / "text");
  file.drop_pages();
  EXPECT_EQ(as_text(file.bytes()), "hello");
  EXPECT_THAT(error_of([&] { read_text(dir / "text", 4); }),
              HasSubstr("5 bytes, expected a text file of at most 4"));
}

TEST(CheckWritable, AsksOnlyWhatIsThere) {
  TempDir dir;
  check_writable(dir.path());
  check_writable(dir / "a/b");
  EXPECT_FALSE(std::filesystem::exists(dir / "a"));
  write_file(dir / "file", "");
  EXPECT_THAT(error_of([&] { check_writable(dir / "file"); }), HasSubstr("is not a directory"));
  EXPECT_THAT(error_of([&] { check_writable(dir / "file/a"); }), HasSubstr("is not a directory"));
}

}  // namespace
}  // namespace octet
