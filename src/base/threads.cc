#include "base/threads.h"

#include <sched.h>

#include <atomic>
#include <charconv>
#include <condition_variable>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <string_view>
#include <thread>
#include <vector>

#include "base/error.h"

namespace octet {

struct ThreadPool::State {
  std::mutex mutex;
  std::condition_variable start, done;
  const std::function<void(std::int64_t)>* task = nullptr;
  std::int64_t count = 0;
  std::atomic<std::int64_t> next{0};
  int working = 0;        // workers still inside the current job
  std::uint64_t job = 0;  // counts jobs, so that each worker takes part once
  bool stop = false;
  std::exception_ptr error;
  std::vector<std::thread> workers;

  void work() {
    for (std::int64_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < count;) {
      try {
        (*task)(i);
      } catch (...) {
        std::lock_guard lock(mutex);
        if (!error) error = std::current_exception();
      }
    }
  }

  void run_worker() {
    std::unique_lock lock(mutex);
    for (std::uint64_t seen = 0;;) {
      start.wait(lock, [&] { return stop || job != seen; });
      if (stop) return;
      seen = job;
      lock.unlock();
      work();
      lock.lock();
      if (--working == 0) done.notify_one();
    }
  }
};

ThreadPool::ThreadPool(int threads) : state_(std::make_unique<State>()) {
  if (threads < 1 || threads > 1024) fail("threads: {} is not between 1 and 1024", threads);
  for (int i = 1; i < threads; ++i) state_->workers.emplace_back([s = state_.get()] { s->run_worker(); });
}

ThreadPool::~ThreadPool() {
  {
    std::lock_guard lock(state_->mutex);
    state_->stop = true;
  }
  state_->start.notify_all();
  for (std::thread& worker : state_->workers) worker.join();
}

int ThreadPool::threads() const {
  return static_cast<int>(state_->workers.size()) + 1;
}

void ThreadPool::parallel_for(std::int64_t count, const std::function<void(std::int64_t)>& task) {
  State& s = *state_;
  if (count <= 1 || s.workers.empty()) {
    for (std::int64_t i = 0; i < count; ++i) task(i);
    return;
  }
  {
    std::lock_guard lock(s.mutex);
    s.task = &task;
    s.count = count;
    s.next = 0;
    s.error = nullptr;
    s.working = static_cast<int>(s.workers.size());
    ++s.job;
  }
  s.start.notify_all();
  s.work();
  std::unique_lock lock(s.mutex);
  s.done.wait(lock, [&] { return s.working == 0; });
  if (s.error) std::rethrow_exception(s.error);
}

int default_threads() {
  if (const char* text = std::getenv("OCTET_NUM_THREADS"); text && *text) {
    std::string_view view(text);
    int threads = 0;
    auto [end, error] = std::from_chars(view.data(), view.data() + view.size(), threads);
    if (error != std::errc() || end != view.data() + view.size() || threads < 1 || threads > 1024)
      fail("OCTET_NUM_THREADS: '{}' is not a number between 1 and 1024", text);
    return threads;
  }
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1u, std::thread::hardware_concurrency());
}

}  // namespace octet
