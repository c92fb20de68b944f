#pragma once
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>

namespace octet {

// Tells a person how far a long job is and about how long it still takes. On a terminal one line is redrawn
// in place; elsewhere a plain line is written every few seconds, so that a log of a short job stays empty.
//
//   Progress progress("pictures", pictures.size());
//   for (...) { work(); progress.update(++done); }
class Progress {
 public:
  using Clock = std::chrono::steady_clock;
  struct Output {
    std::FILE* file = stderr;
    bool terminal = false;
    std::function<Clock::time_point()> now = Clock::now;
  };

  Progress(std::string what, std::int64_t total);  // to stderr
  Progress(std::string what, std::int64_t total, Output output);
  ~Progress();  // wipes the line from a terminal
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void update(std::int64_t done);
  void clear();  // wipes the line, for something else to be printed; the next update draws it again

 private:
  std::string what_;
  std::int64_t total_;
  Output output_;
  Clock::time_point start_, shown_;
  bool drawn_ = false;
};

// "8 s", "3 min 20 s", "2 h 5 min".
std::string format_duration(std::chrono::seconds duration);

}  // namespace octet
