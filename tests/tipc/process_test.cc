#include "tipc/process.h"

#include <gmock/gmock.h>

#include <atomic>
#include <thread>

#include "octet/error.h"
#include "support/is_running.h"

namespace octet::tipc {
namespace {

using std::chrono::milliseconds;
using End = ProcessResult::End;

struct TipcProcess : testing::Test {
  ProcessResult run(const std::string& command, ProcessOptions options = {}) {
    options.log = dir / "log";
    return run_process(command, options);
  }
  std::string log() const { return read_file(dir / "log"); }

  TempDir dir;
};

TEST_F(TipcProcess, OutputGoesToTheLog) {
  EXPECT_TRUE(run("echo out; echo err >&2; cat").succeeded());  // cat: there is nothing to read
  EXPECT_EQ(log(), "out\nerr\n");
  run("echo more", {.append = true});
  EXPECT_EQ(log(), "out\nerr\nmore\n");
  run("echo new");
  EXPECT_EQ(log(), "new\n");
}

TEST_F(TipcProcess, EndsAreToldApart) {
  EXPECT_EQ(run("exit 3").describe(), "exit code 3");
  EXPECT_FALSE(run("exit 3").succeeded());
  EXPECT_EQ(run("kill -KILL $$").describe(), "killed by signal 9 (Killed)");
  EXPECT_EQ(run("no_such_program").code, 127);
  EXPECT_THROW(run_process("true", {.log = dir / "no/such/folder"}), Error);
}

TEST_F(TipcProcess, TheEnvironmentIsChangedNotReplaced) {
  ::setenv("TIPC_TEST_OLD", "old", 1);
  ::setenv("TIPC_TEST_BOTH", "old", 1);
  run("echo $TIPC_TEST_OLD $TIPC_TEST_BOTH $TIPC_TEST_NEW",
      {.environment = {"TIPC_TEST_BOTH=new", "TIPC_TEST_NEW=new"}});
  EXPECT_EQ(log(), "old new new\n");
}

TEST_F(TipcProcess, ATimeLimitEndsAllChildren) {
  // One in the group, one in a session of its own whose parent is gone, and one that does not end when asked.
  const std::string at = "cd " + dir.path().string() + "; ";
  const auto start = std::chrono::steady_clock::now();
  ProcessResult result =
      run(at + "sleep 100 & echo $! > a; (setsid sh -c 'echo $$ > b; exec sleep 100' &); "
               "(trap '' TERM; setsid sh -c 'echo $$ > c; while :; do sleep 1; done') & "
               "while ! [ -s b ] || ! [ -s c ]; do sleep 0.05; done; echo begun; sleep 100",
          {.timeout = milliseconds(1500)});
  EXPECT_EQ(result.end, End::kTimeout);
  EXPECT_EQ(result.describe(), "stopped at its time limit");
  EXPECT_EQ(log(), "begun\n");
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
  for (const char* file : {"a", "b", "c"}) EXPECT_FALSE(is_running(dir / file)) << file;
}

TEST_F(TipcProcess, WhatACommandLeavesBehindEndsWithIt) {
  EXPECT_TRUE(run("cd " + dir.path().string() + "; sleep 100 & echo $! > a").succeeded());
  EXPECT_FALSE(is_running(dir / "a"));
}

TEST_F(TipcProcess, CanBeStopped) {
  std::atomic<bool> stop = false;
  std::thread later([&] {
    std::this_thread::sleep_for(milliseconds(200));
    stop = true;
  });
  EXPECT_EQ(run("sleep 100", {.stop = [&] { return stop.load(); }}).end, End::kStopped);
  later.join();
}

}  // namespace
}  // namespace octet::tipc
