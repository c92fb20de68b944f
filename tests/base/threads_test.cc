#include "base/threads.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "octet/error.h"

namespace octet {
namespace {

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // which need all of the address space
[[noreturn]] void work_with_little_memory() {
  rlimit limit = {};
  limit.rlim_cur = limit.rlim_max = std::size_t{2} << 30;
  setrlimit(RLIMIT_AS, &limit);
  ThreadPool pool(1000);
  std::atomic<int> done = 0;
  pool.parallel_for(100, [&](std::int64_t) { ++done; });
  _exit(pool.threads() > 1 && pool.threads() < 1000 && done == 100 ? 0 : 1);
}

// In a process of its own, whose memory does not suffice for the stacks of so many.
TEST(ThreadPool, MakesDoWithFewerThreads) {
  EXPECT_EXIT(work_with_little_memory(), ::testing::ExitedWithCode(0), "");
}
#endif

TEST(ThreadPool, DoesEachTaskOnce) {
  for (int threads : {1, 2, 5}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.threads(), threads);
    for (int round = 0; round < 200; ++round) {
      std::vector<std::atomic<int>> done(static_cast<std::size_t>(round));
      pool.parallel_for(round, [&](std::int64_t i) { ++done[static_cast<std::size_t>(i)]; });
      for (const auto& count : done) EXPECT_EQ(count, 1);
    }
  }
}

// Long enough for the workers, and then for the caller, to lose patience and sleep.
TEST(ThreadPool, WakesThoseThatSleep) {
  constexpr std::chrono::milliseconds kLong(2);
  ThreadPool pool(3);
  for (int round = 0; round < 20; ++round) {
    std::this_thread::sleep_for(kLong);
    std::atomic<int> done = 0;
    pool.parallel_for(5, [&](std::int64_t) {
      std::this_thread::sleep_for(kLong);
      ++done;
    });
    EXPECT_EQ(done, 5);
  }
}

TEST(ThreadPool, PassesAnExceptionOn) {
  ThreadPool pool(3);
  auto task = [](std::int64_t i) {
    if (i == 7) throw std::runtime_error("seven");
  };
  EXPECT_THROW(pool.parallel_for(20, task), std::runtime_error);
  std::atomic<int> done = 0;
  pool.parallel_for(20, [&](std::int64_t) { ++done; });
  EXPECT_EQ(done, 20);
}

TEST(ThreadPool, TheEnvironmentSetsTheDefault) {
  ::setenv("OCTET_NUM_THREADS", "3", 1);
  EXPECT_EQ(default_threads(), 3);
  for (const char* bad : {"0", "-1", "two", "3x", "99999"}) {
    ::setenv("OCTET_NUM_THREADS", bad, 1);
    EXPECT_THROW(default_threads(), Error) << bad;
  }
  ::unsetenv("OCTET_NUM_THREADS");
  EXPECT_GE(default_threads(), 1);
}

// Workers that were put on the core of the thread they work for go elsewhere.
TEST(ThreadPool, WorkersLeaveTheCoreOfTheCaller) {
  cpu_set_t all, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof all, &all), 0);
  if (CPU_COUNT(&all) < 2) GTEST_SKIP() << "one core only";
  ThreadPool pool(2);
  int core = sched_getcpu();
  CPU_ZERO(&one);
  CPU_SET(static_cast<unsigned>(core), &one);
  auto everyone = [&](const std::function<void()>& run) {
    std::set<std::thread::id> seen;
    std::mutex mutex;
    for (int i = 0; i < 1000 && seen.size() < 2; ++i)
      pool.parallel_for(2, [&](std::int64_t) {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));  // so that the other one is awake, too
        std::lock_guard lock(mutex);
        if (seen.insert(std::this_thread::get_id()).second) run();
      });
    return seen.size();
  };
  ASSERT_EQ(everyone([&] { sched_setaffinity(0, sizeof one, &one); }), 2U);
  std::set<int> cores;
  ASSERT_EQ(everyone([&] { cores.insert(sched_getcpu()); }), 2U);
  EXPECT_EQ(cores.size(), 2U);
  sched_setaffinity(0, sizeof all, &all);
}

}  // namespace
}  // namespace octet
