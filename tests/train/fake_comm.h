#pragma once
#include <condition_variable>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <thread>

#include "comm/comm.h"

namespace octet::testing {

// Threads in place of processes.
//
//   run_ranks(2, [](Comm& comm) { ... });
class FakeComm : public Comm {
 public:
  // What the ranks share. They meet in each operation.
  struct Group {
    explicit Group(int size) : size(size) {}
    const int size;
    std::mutex mutex;
    std::condition_variable changed;
    int arrived = 0;
    std::int64_t round = 0;
    std::vector<double> sums;
    std::vector<std::string> texts;
    std::map<int, std::shared_ptr<Group>> copies;
  };

  FakeComm(std::shared_ptr<Group> group, int rank) : group_(std::move(group)), rank_(rank) {}

  int rank() const override { return rank_; }
  int size() const override { return group_->size; }
  std::vector<std::string> gather(const std::string& mine) override {
    std::vector<std::string> all = exchange(mine);
    return rank_ == 0 ? all : std::vector<std::string>{};
  }
  std::string broadcast(const std::string& text) override { return exchange(text).at(0); }
  void all_reduce(std::span<float> numbers) override { add_up(numbers); }
  void all_reduce(std::span<double> numbers) override { add_up(numbers); }
  std::unique_ptr<Comm> duplicate() override {
    const std::lock_guard lock(group_->mutex);
    std::shared_ptr<Group>& copy = group_->copies[copies_++];
    if (!copy) copy = std::make_shared<Group>(group_->size);
    return std::make_unique<FakeComm>(copy, rank_);
  }
  [[noreturn]] void abort(int) override { throw Error("a process ended all of them"); }

 private:
  // All ranks come in one after the other, then all leave.
  template <class Enter, class Leave>
  void meet(Enter enter, Leave leave) {
    std::unique_lock lock(group_->mutex);
    // Those of the round before have to be gone.
    group_->changed.wait(lock, [&] { return group_->round % 2 == 0; });
    enter(group_->arrived == 0);
    if (++group_->arrived == group_->size) {
      ++group_->round;
      group_->changed.notify_all();
    }
    group_->changed.wait(lock, [&] { return group_->round % 2 == 1; });
    leave();
    if (--group_->arrived == 0) {
      ++group_->round;
      group_->changed.notify_all();
    }
  }

  std::vector<std::string> exchange(const std::string& mine) {
    std::vector<std::string> all;
    meet(
        [&](bool is_first) {
          if (is_first) group_->texts.assign(static_cast<std::size_t>(size()), "");
          group_->texts[static_cast<std::size_t>(rank_)] = mine;
        },
        [&] { all = group_->texts; });
    return all;
  }

  template <class T>
  void add_up(std::span<T> numbers) {
    std::string problem;
    meet(
        [&](bool is_first) {
          if (is_first) group_->sums.assign(numbers.size(), 0);
          if (group_->sums.size() != numbers.size()) problem = "ranks add up vectors of different sizes";
          for (std::size_t i = 0; i < std::min(numbers.size(), group_->sums.size()); ++i)
            group_->sums[i] += static_cast<double>(numbers[i]);
        },
        [&] {
          for (std::size_t i = 0; i < std::min(numbers.size(), group_->sums.size()); ++i)
            numbers[i] = static_cast<T>(group_->sums[i]);
        });
    if (!problem.empty()) fail("{}", problem);
  }

  std::shared_ptr<Group> group_;
  const int rank_;
  int copies_ = 0;
};

// Runs `work` in so many threads at once, each with its rank, and rethrows what one of them throws.
inline void run_ranks(int size, const std::function<void(Comm&)>& work) {
  const auto group = std::make_shared<FakeComm::Group>(size);
  std::vector<std::thread> threads;
  std::vector<std::exception_ptr> errors(static_cast<std::size_t>(size));
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        FakeComm comm(group, rank);
        work(comm);
      } catch (...) {
        errors[static_cast<std::size_t>(rank)] = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& error : errors)
    if (error) std::rethrow_exception(error);
}

}  // namespace octet::testing
