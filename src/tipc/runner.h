#pragma once
#include <chrono>
#include <functional>

#include "tipc/plan.h"

namespace octet::tipc {

struct Result {
  enum class Status { kPassed, kFailed, kSkipped };
  Status status = Status::kSkipped;
  std::string reason;             // of a failure or a skip
  std::vector<std::string> tail;  // of a failure: the last lines of the log
  double seconds = 0;
};

struct RunOptions {
  std::chrono::milliseconds timeout{0};       // of each command; 0: none
  int jobs = 1;                               // rows of the matrix at once
  bool fail_fast = false;                     // no further command after the first failure
  std::vector<std::string> environment = {};  // NAME=value, for all commands
  std::function<bool()> stop = nullptr;       // true: end what runs, start nothing more
  // Called before a command is run and with what became of each, by one thread at a time.
  std::function<void(const Step&)> started = nullptr;
  std::function<void(const Step&, const Result&)> finished = nullptr;
};

// Runs the steps and appends their report() to results_python.log in the plan's folder. One result a step.
std::vector<Result> run_plan(const Plan& plan, const RunOptions& options);

// " Run successfully with command - octet train.py ...!", and below a failure why and the end of the log.
std::string report(const Step& step, const Result& result);

// JUnit's XML, which CI systems read.
std::string to_junit(const Plan& plan, const std::vector<Result>& results);

}  // namespace octet::tipc
