#include "base/threads.h"

#include <sched.h>

#include <atomic>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <string_view>
#include <utility>

#include "base/error.h"

namespace octet {

namespace {

// How long a thread that has nothing to do stays awake. The layers of a network follow each other within a
// few microseconds, and to sleep and be woken takes longer than most of them.
constexpr std::chrono::microseconds kPatience(40);

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Waits for ready(), but not for long; false when it gave up. Where there are more threads than cores it lets
// the others go first.
template <class Ready>
bool wait_awake(const Ready& ready) {
  constexpr int kLooks = 64;
  auto start = std::chrono::steady_clock::now();
  for (int round = 0;; ++round) {
    for (int i = 0; i < kLooks; ++i) {
      if (ready()) return true;
      pause();
    }
    if (std::chrono::steady_clock::now() - start > kPatience) return false;
    if (round > 2) std::this_thread::yield();
  }
}

// The cores that the calling thread may use.
cpu_set_t own_cores() {
  cpu_set_t cores;
  if (sched_getaffinity(0, sizeof cores, &cores) != 0) CPU_ZERO(&cores);
  return cores;
}

}  // namespace

// A job is handed out through `left` alone. Whoever brings it down from r > 0 has taken task count - r of the
// current job, and until that task is counted in `done` the job cannot end. So a thread that took a task may
// read what describes the job, and one that comes too late finds nothing and touches nothing.
struct ThreadPool::State {
  alignas(64) std::atomic<std::int64_t> left{0};
  alignas(64) std::atomic<std::int64_t> done{0};
  alignas(64) const Task* task = nullptr;
  std::int64_t count = 0;

  // For threads that have lost patience. The flags are read after the counters are written, and the other way
  // round by those who go to sleep; all in one order, so nobody sleeps through what he waits for.
  std::atomic<int> sleeping{0};
  std::atomic<bool> caller_sleeps{false}, stop{false};
  std::mutex mutex;
  std::condition_variable start, finished;
  std::uint64_t calls = 0;  // how often sleepers were woken; guarded by the mutex, as the error is
  std::exception_ptr error;
  std::vector<std::thread> workers;

  // Some kernels leave threads together on one core while others have nothing to do (virtual machines do, to
  // give cores back), so workers keep away from the core of whoever they work for.
  std::atomic<int> caller_core{-1};
  const cpu_set_t cores = own_cores();

  void leave_core_of_caller() const {
    int core = caller_core.load(std::memory_order_relaxed);
    if (core < 0 || sched_getcpu() != core || CPU_COUNT(&cores) < 2) return;
    cpu_set_t others = cores;
    CPU_CLR(static_cast<unsigned>(core), &others);
    sched_setaffinity(0, sizeof others, &others);  // where that is not allowed, it just stays
  }

  void work(int thread) {
    std::int64_t mine = 0, all = 0;
    while (left.load(std::memory_order_relaxed) > 0) {
      std::int64_t rest = left.fetch_sub(1, std::memory_order_acquire);
      if (rest <= 0) break;
      all = count;
      try {
        (*task)(all - rest, thread);
      } catch (...) {
        std::lock_guard lock(mutex);
        if (!error) error = std::current_exception();
      }
      ++mine;
    }
    if (mine == 0) return;
    if (done.fetch_add(mine) + mine == all && caller_sleeps) {
      { std::lock_guard lock(mutex); }
      finished.notify_one();
    }
  }

  void run_worker(int thread) {
    auto called = [&] { return left > 0 || stop; };
    while (!stop) {
      leave_core_of_caller();
      work(thread);
      if (wait_awake(called)) continue;
      std::unique_lock lock(mutex);
      std::uint64_t seen = calls;
      ++sleeping;
      start.wait(lock, [&] { return called() || calls != seen; });
      --sleeping;
    }
  }

  void wake_workers() {
    if (sleeping == 0) return;
    {
      std::lock_guard lock(mutex);
      ++calls;
    }
    start.notify_all();
  }
};

ThreadPool::ThreadPool(int threads) : state_(std::make_unique<State>()) {
  if (threads < 1 || threads > 1024) fail("threads: {} is not between 1 and 1024", threads);
  start_threads(state_->workers, threads - 1, [s = state_.get()](int i) { s->run_worker(i + 1); });
}

ThreadPool::~ThreadPool() {
  state_->stop = true;
  state_->wake_workers();
  for (std::thread& worker : state_->workers) worker.join();
}

int ThreadPool::threads() const {
  return static_cast<int>(state_->workers.size()) + 1;
}

void ThreadPool::parallel_for(std::int64_t count, const Task& task) {
  State& s = *state_;
  if (count <= 1 || s.workers.empty()) {
    for (std::int64_t i = 0; i < count; ++i) task(i, 0);
    return;
  }
  s.caller_core.store(sched_getcpu(), std::memory_order_relaxed);
  s.task = &task;
  s.count = count;
  s.done.store(0, std::memory_order_relaxed);
  s.left = count;
  s.wake_workers();
  s.work(0);
  auto all_done = [&] { return s.done == count; };
  if (!wait_awake(all_done)) {
    s.caller_sleeps = true;
    std::unique_lock lock(s.mutex);
    s.finished.wait(lock, all_done);
    s.caller_sleeps = false;
  }
  // Only now, because whoever threw has counted his task since.
  if (s.error) std::rethrow_exception(std::exchange(s.error, nullptr));
}

int available_threads(int wanted) {
  return ThreadPool(wanted).threads();
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
  cpu_set_t cores = own_cores();
  if (int count = CPU_COUNT(&cores); count > 0) return count;
  return static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

}  // namespace octet
