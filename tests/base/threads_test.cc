#include "base/threads.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

#include "octet/error.h"

namespace octet {
namespace {

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

}  // namespace
}  // namespace octet
