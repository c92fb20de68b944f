#include "base/journal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/file.h"
#include "support/graph_runner.h"
#include "support/temp_dir.h"

// Kills at every step are in tests/cli/kill_test.cc.
namespace octet {
namespace {

namespace fs = std::filesystem;
using testing::error_of;
using ::testing::HasSubstr;

constexpr const char* kFirst = ".octet-0123456789abcdef";
constexpr const char* kSecond = ".octet-fedcba9876543210";

// A folder in which a run was killed after its commit, when it had renamed the first of two files.
struct Interrupted : TempDir {
  Interrupted() {
    write_file(*this / "a", "new a");
    write_file(*this / "b", "old");
    write_file(*this / kSecond, "new b");
    write_journal("octet commit 1\n5 .octet-0123456789abcdef a\n5 .octet-fedcba9876543210 b\n");
  }
  void write_journal(const std::string& text) { write_file(*this / ".octet-commit", text); }
  std::string open(const std::string& name) { return read_text(*this / name); }
  int files() const { return static_cast<int>(std::distance(fs::directory_iterator(path()), {})); }
};

TEST(Journal, WhoeverReadsFinishesACommit) {
  Interrupted folder;
  fs::create_symlink("b", folder / "link");
  EXPECT_EQ(folder.open("link"), "new b");
  EXPECT_EQ(folder.files(), 3);
  EXPECT_EQ(read_file(folder / "b"), "new b");
  EXPECT_EQ(folder.open("a"), "new a");
}

TEST(Journal, WhoeverWritesFinishesACommit) {
  Interrupted folder;
  save_file(folder / "c", "c");
  EXPECT_EQ(read_file(folder / "b"), "new b");
  EXPECT_EQ(folder.files(), 3);
}

TEST(Journal, IsReadWhereNothingCanBeRenamed) {
  TempDir empty;
  Interrupted folder;
  fs::rename(folder / ".octet-commit", empty / "journal");
  const FolderLock lock(folder.path(), FolderLock::Kind::kShared);
  fs::rename(empty / "journal", folder / ".octet-commit");
  EXPECT_EQ(folder.open("a"), "new a");
  EXPECT_EQ(folder.open("b"), "new b");
  EXPECT_EQ(read_file(folder / "b"), "old");
  fs::remove(folder / "b");
  EXPECT_TRUE(file_exists(folder / "b"));
  EXPECT_FALSE(file_exists(folder / "c"));
}

TEST(Journal, OfAFolderThatCannotBeWrittenToIsReadToo) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may write everywhere";
  Interrupted folder;
  fs::permissions(folder.path(), fs::perms::owner_read | fs::perms::owner_exec);
  EXPECT_EQ(folder.open("b"), "new b");
  EXPECT_EQ(read_file(folder / "b"), "old");
  fs::permissions(folder.path(), fs::perms::owner_all);
}

TEST(Journal, LeadsNowhereElse) {
  for (const char* line :
       {"5 .octet-fedcba9876543210 ../b", "5 .octet-fedcba9876543210 ..", "5 .octet-fedcba9876543210 /b",
        "5 ../fedcba9876543210 b", "5 b a", "x .octet-fedcba9876543210 b", "5 .octet-fedcba9876543210", "5",
        "", "-1 .octet-fedcba9876543210 b", "5 .octet-fedcba987654321  b"}) {
    Interrupted folder;
    folder.write_journal(std::string("octet commit 1\n") + line + "\n");
    EXPECT_THAT(error_of([&] { folder.open("b"); }), HasSubstr(".octet-commit: damaged (")) << line;
    EXPECT_EQ(read_file(folder / "b"), "old");
  }
  for (const char* text : {"", "octet commit 1\n", "octet commit 2\n5 .octet-fedcba9876543210 b\n",
                           "octet commit 1\n5 .octet-fedcba9876543210 b"}) {
    Interrupted folder;
    folder.write_journal(text);
    EXPECT_THAT(error_of([&] { folder.open("b"); }), HasSubstr("damaged (")) << text;
  }
}

TEST(Journal, SaysWhatIsMissing) {
  Interrupted folder;
  write_file(folder / kSecond, "cut");
  EXPECT_THAT(error_of([&] { folder.open("a"); }),
              HasSubstr("b: neither it nor .octet-fedcba9876543210 has"));
}

TEST(Journal, LeftoversGoAndWhatOthersWriteStays) {
  TempDir dir;
  write_file(dir / kFirst, "left over");
  write_file(dir / ".octet-notes", "no temporary file");
  AtomicFiles living;
  living.begin(dir / "b");
  living.write("b");
  EXPECT_FALSE(fs::exists(dir / kFirst));
  save_file(dir / "a", "a");
  living.commit();
  EXPECT_EQ(read_file(dir / "b"), "b");
  EXPECT_EQ(read_file(dir / "a"), "a");
  EXPECT_TRUE(fs::exists(dir / ".octet-notes"));
  EXPECT_EQ(std::distance(fs::directory_iterator(dir.path()), {}), 3);
}

}  // namespace
}  // namespace octet
