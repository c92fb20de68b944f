#pragma once
#include <cstdint>
#include <memory>
#include <new>
#include <system_error>
#include <thread>
#include <type_traits>
#include <vector>

namespace octet {

// A fixed set of worker threads. The calling thread works too, so ThreadPool(1) starts none.
// One parallel_for at a time; a predictor owns its pool.
class ThreadPool {
 public:
  // Refers to something that is called with the number of a task and, if it wants that, with the number of
  // the thread that runs it, which is in [0, threads()). It must outlive the call it is passed to.
  class Task {
   public:
    template <class Function>
    Task(const Function& function)
        : function_(&function), call_([](const void* object, std::int64_t i, [[maybe_unused]] int thread) {
            if constexpr (std::is_invocable_v<const Function&, std::int64_t, int>)
              (*static_cast<const Function*>(object))(i, thread);
            else
              (*static_cast<const Function*>(object))(i);
          }) {}
    void operator()(std::int64_t i, int thread) const { call_(function_, i, thread); }

   private:
    const void* function_;
    void (*call_)(const void* function, std::int64_t i, int thread);
  };

  // With fewer threads where the system gives no more; threads() says how many there are.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const;
  // Calls task(i) once for each i in [0, count), in any order, and returns when all are done. What a task
  // does must not depend on the thread, whose number is there for memory that it alone uses. The first
  // exception is rethrown here.
  void parallel_for(std::int64_t count, const Task& task);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Starts up to `count` threads that call run(i) for i in [0, count), until the system gives no more.
template <class Run>
void start_threads(std::vector<std::thread>& threads, int count, const Run& run) {
  try {
    threads.reserve(threads.size() + static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i) threads.emplace_back([run, i] { run(i); });
  } catch (const std::system_error&) {
    // A limit on processes or memory: who asked makes do with those that run.
  } catch (const std::bad_alloc&) {
  }
}

// How many of `wanted` threads the system gives this process now; the calling one is among them.
int available_threads(int wanted);

// OCTET_NUM_THREADS, or the number of cores this process may use.
int default_threads();

}  // namespace octet
