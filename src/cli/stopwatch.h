#pragma once
#include <chrono>
#include <string>

namespace octet::cli {

// Time spent between start() and stop(), added up.
class Stopwatch {
 public:
  void start() { start_ = Clock::now(); }
  void stop() { total_ += Clock::now() - start_; }
  double ms() const { return std::chrono::duration<double, std::milli>(total_).count(); }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_;
  Clock::duration total_{};
};

}  // namespace octet::cli
