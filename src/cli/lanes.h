#pragma once
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace octet::cli {

// Work that is taken, done and handed in by several threads, the lanes: `take()` gives a piece or nothing,
// when there are no more; `work(lane, piece)` makes a result of it; `hand_in(piece, result)` gets those in
// the order in which the pieces were taken. Only `work` runs in several threads at once. The first exception,
// in that order, ends it and is rethrown.
template <class Take, class Work, class HandIn>
void run_in_lanes(int lanes, const Take& take, const Work& work, const HandIn& hand_in) {
  std::mutex taking, handing_in;
  std::condition_variable has_turn;
  std::int64_t taken = 0, turn = 0;  // guarded by the one and by the other
  bool stop = false;
  std::exception_ptr failure;

  const auto lane = [&](int number) {
    for (;;) {
      decltype(take()) piece;
      std::int64_t ticket = 0;
      std::exception_ptr problem;
      {
        std::lock_guard lock(taking);
        ticket = taken++;
        try {
          piece = take();
        } catch (...) {
          problem = std::current_exception();
        }
      }
      std::optional<decltype(work(number, *piece))> result;
      try {
        if (piece) result.emplace(work(number, *piece));
      } catch (...) {
        problem = std::current_exception();
      }
      std::unique_lock lock(handing_in);
      has_turn.wait(lock, [&] { return turn == ticket || stop; });
      if (stop) return;
      try {
        if (problem) std::rethrow_exception(problem);
        if (result) hand_in(*piece, *result);
      } catch (...) {
        failure = std::current_exception();
      }
      ++turn;
      stop = failure || !piece;
      has_turn.notify_all();
      if (stop) return;
    }
  };
  std::vector<std::thread> threads;
  for (int i = 1; i < lanes; ++i) threads.emplace_back(lane, i);
  lane(0);
  for (std::thread& thread : threads) thread.join();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace octet::cli
