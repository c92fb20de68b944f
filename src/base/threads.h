#pragma once
#include <cstdint>
#include <memory>
#include <type_traits>

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

// OCTET_NUM_THREADS, or the number of cores this process may use.
int default_threads();

}  // namespace octet
