#include "base/unfinished.h"

#include <gtest/gtest.h>

#include <csignal>

#include "base/file.h"
#include "support/temp_dir.h"

namespace octet {
namespace {

namespace fs = std::filesystem;

TEST(UnfinishedDeathTest, ASignalRemovesWhatIsNotFinished) {
  TempDir dir;
  auto stopped_by = [&](int signal) {
    remove_unfinished_on_signals();
    AtomicFiles done, first, second;
    done.begin(dir / "done");
    done.write("whole");
    done.commit();
    first.begin(dir / "a");
    first.begin(dir / "b");
    second.begin(dir / "c");
    ::raise(signal);
  };
  for (int signal : {SIGINT, SIGTERM, SIGHUP}) {
    EXPECT_EXIT(stopped_by(signal), testing::KilledBySignal(signal), "");
    for (const fs::directory_entry& entry : fs::directory_iterator(dir.path()))
      EXPECT_EQ(entry.path().filename(), "done");
    EXPECT_EQ(read_file(dir / "done"), "whole");
  }
}

TEST(UnfinishedDeathTest, AnIgnoredSignalStaysIgnored) {
  EXPECT_EXIT(
      {
        std::signal(SIGHUP, SIG_IGN);
        remove_unfinished_on_signals();
        ::raise(SIGHUP);
        std::_Exit(0);
      },
      testing::ExitedWithCode(0), "");
}

TEST(UnfinishedDeathTest, ASignalWaitsForFilesThatChangeHands) {
  TempDir dir;
  auto stopped = [&](int signals) {
    remove_unfinished_on_signals();
    AtomicFiles unfinished;
    unfinished.begin(dir / "unfinished");
    const SignalsWait outer;
    {
      const SignalsWait inner;
      for (int i = 0; i < signals; ++i) ::raise(SIGTERM);
      save_file(dir / "file", "whole");  // waits, too
    }
    save_file(dir / "another", "whole");
  };
  EXPECT_EXIT(stopped(1), testing::KilledBySignal(SIGTERM), "");
  EXPECT_EQ(read_file(dir / "file"), "whole");
  EXPECT_EQ(read_file(dir / "another"), "whole");
  EXPECT_EQ(std::distance(fs::directory_iterator(dir.path()), {}), 2);
  fs::remove(dir / "file");
  EXPECT_EXIT(stopped(2), testing::KilledBySignal(SIGTERM), "");  // at once
  EXPECT_FALSE(fs::exists(dir / "file"));
}

TEST(Unfinished, EntriesAreFewAndUsedAgain) {
  std::vector<int> entries;
  while (entries.empty() || entries.back() >= 0) entries.push_back(remember_unfinished("no/such/file"));
  EXPECT_EQ(entries.size(), 17u);
  for (int entry : entries) forget_unfinished(entry);
  int again = remember_unfinished("no/such/file");
  EXPECT_GE(again, 0);
  forget_unfinished(again);
  EXPECT_EQ(remember_unfinished(std::string(5000, 'a').c_str()), -1);
}

}  // namespace
}  // namespace octet
