#include "tipc/runner.h"

#include <algorithm>
#include <deque>
#include <fstream>
#include <map>
#include <mutex>

#include "base/error.h"
#include "base/file.h"
#include "base/threads.h"
#include "tipc/process.h"

namespace octet::tipc {

namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using Status = Result::Status;

constexpr std::size_t kTailLines = 15;
constexpr std::uintmax_t kTailBytes = 16 << 10;

std::uintmax_t size_of(const fs::path& path) {
  std::error_code error;
  const std::uintmax_t size = fs::file_size(path, error);
  return error ? 0 : size;
}

// The last lines of what was written behind `begin`.
std::vector<std::string> tail_of(const fs::path& path, std::uintmax_t begin) {
  std::ifstream in(path, std::ios::binary);
  const std::uintmax_t size = size_of(path);
  in.seekg(static_cast<std::streamoff>(std::max(begin, size > kTailBytes ? size - kTailBytes : 0)));
  std::deque<std::string> lines;
  for (std::string line; std::getline(in, line);) {
    lines.push_back(printable(line));
    if (lines.size() > kTailLines) lines.pop_front();
  }
  return {lines.begin(), lines.end()};
}

// Whether there is a file of this name, or one whose name begins so.
bool exists_as_prefix(const fs::path& path) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(path.parent_path(), error))
    if (entry.path().filename().string().starts_with(path.filename().string())) return true;
  return false;
}

class Runner {
 public:
  Runner(const Plan& plan, const RunOptions& options)
      : plan_(plan), options_(options), results_(plan.steps.size()) {
    make_directory(plan.folder);
    for (std::size_t i = 0; i < plan.steps.size(); ++i) {
      const Step& step = plan.steps[i];
      if (rows_.empty() || plan.steps[rows_.back().front()].row != step.row) rows_.emplace_back();
      rows_.back().push_back(i);
      log_locks_[step.log];  // all are there before threads look for them
    }
  }

  std::vector<Result> run() {
    const std::size_t workers = std::min(rows_.size(), static_cast<std::size_t>(std::max(options_.jobs, 1)));
    std::vector<std::thread> threads;
    start_threads(threads, static_cast<int>(workers) - 1, [this](int) { work(); });
    work();
    for (std::thread& thread : threads) thread.join();
    if (error_) std::rethrow_exception(error_);
    return std::move(results_);
  }

 private:
  void work() {
    try {
      for (;;) {
        std::size_t row = 0;
        {
          std::lock_guard lock(mutex_);
          if (next_row_ == rows_.size() || error_) return;
          row = next_row_++;
        }
        for (std::size_t index : rows_[row]) run_step(index);
      }
    } catch (...) {  // of a callback, or a folder that can't be written to
      std::lock_guard lock(mutex_);
      if (!error_) error_ = std::current_exception();
    }
  }

  // Why a step is not run; "": it is.
  std::string why_skipped(const Step& step) const {
    if (options_.stop && options_.stop()) return "interrupted";
    if (has_failed_ && options_.fail_fast) return "an earlier command failed";
    if (!step.skip.empty()) return step.skip;
    if (step.needs < 0) return "";
    const Step& needed = plan_.steps[static_cast<std::size_t>(step.needs)];
    const Result& before = results_[static_cast<std::size_t>(step.needs)];
    if (before.status == Status::kPassed) return "";
    return fmt::format("its input is missing, because {} {} {}", needed.row, needed.stage,
                       before.status == Status::kFailed ? "failed" : "was skipped");
  }

  void run_step(std::size_t index) {
    const Step& step = plan_.steps[index];
    Result result;
    {
      std::lock_guard lock(mutex_);
      result.reason = why_skipped(step);
      if (result.reason.empty() && options_.started) options_.started(step);
    }
    if (result.reason.empty()) {
      std::lock_guard lock(log_locks_.at(step.log));
      const Clock::time_point start = Clock::now();
      execute(step, result);
      result.seconds = std::chrono::duration<double>(Clock::now() - start).count();
    }
    std::lock_guard lock(mutex_);
    has_failed_ = has_failed_ || result.status == Status::kFailed;
    results_[index] = result;
    std::ofstream(plan_.folder / "results_python.log", std::ios::app) << report(step, result);
    if (options_.finished) options_.finished(step, result);
  }

  void execute(const Step& step, Result& result) {
    // What an earlier run left there may not pass for this one's.
    if (!step.folder.empty()) {
      fs::remove_all(step.folder);
      make_directory(step.folder);
    }
    ProcessOptions process;
    process.log = step.log;
    process.append = step.appends;
    process.environment = options_.environment;
    process.environment.insert(process.environment.end(), step.environment.begin(), step.environment.end());
    process.timeout = options_.timeout;
    process.stop = options_.stop;
    const std::uintmax_t begin = step.appends ? size_of(step.log) : 0;
    const ProcessResult ended = run_process(step.command, process);
    if (!ended.succeeded()) {
      result.reason = ended.describe();
      if (ended.end == ProcessResult::End::kTimeout)
        result.reason += fmt::format(" of {} s", static_cast<double>(options_.timeout.count()) / 1000);
    } else if (!step.makes.empty() && !exists_as_prefix(step.makes)) {
      result.reason = fmt::format("it wrote no {}", step.makes.string());
    }
    result.status = result.reason.empty() ? Status::kPassed : Status::kFailed;
    if (result.status == Status::kFailed) result.tail = tail_of(step.log, begin);
  }

  const Plan& plan_;
  const RunOptions& options_;
  std::vector<std::vector<std::size_t>> rows_;  // the steps of each row
  std::map<fs::path, std::mutex> log_locks_;    // rows may share a log
  std::mutex mutex_;                            // of all below, and of the callbacks
  std::vector<Result> results_;
  std::size_t next_row_ = 0;
  bool has_failed_ = false;
  std::exception_ptr error_;
};

std::string xml(std::string_view text) {
  std::string result;
  for (char c : text) {
    if (c == '&')
      result += "&amp;";
    else if (c == '<')
      result += "&lt;";
    else if (c == '>')
      result += "&gt;";
    else if (c == '"')
      result += "&quot;";
    else
      result += c;
  }
  return result;
}

}  // namespace

std::vector<Result> run_plan(const Plan& plan, const RunOptions& options) {
  return Runner(plan, options).run();
}

std::string report(const Step& step, const Result& result) {
  switch (result.status) {
    case Status::kPassed:
      return fmt::format(" Run successfully with command - {}!\n", step.reported());
    case Status::kSkipped: {
      std::string command = step.reported();
      if (command.ends_with(' ')) command.pop_back();
      return fmt::format(" Run skipped with command - {} : {}\n", command, result.reason);
    }
    default:
      break;
  }
  std::string text = fmt::format(" Run failed with command - {}!\n", step.reported());
  text +=
      fmt::format("   {}, {}: {}; the end of {}:\n", step.row, step.stage, result.reason, step.log.string());
  for (const std::string& line : result.tail) text += "   | " + line + "\n";
  return text;
}

std::string to_junit(const Plan& plan, const std::vector<Result>& results) {
  double seconds = 0;
  std::size_t failed = 0, skipped = 0;
  std::string cases;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const Step& step = plan.steps[i];
    const Result& result = results[i];
    seconds += result.seconds;
    failed += result.status == Status::kFailed;
    skipped += result.status == Status::kSkipped;
    cases +=
        fmt::format("  <testcase classname=\"{}.{}.{}\" name=\"{}\" time=\"{:.3f}\"", xml(plan.model_name),
                    xml(plan.mode), xml(step.row), xml(step.stage + ": " + step.command), result.seconds);
    if (result.status == Status::kPassed)
      cases += "/>\n";
    else if (result.status == Status::kSkipped)
      cases += fmt::format("><skipped message=\"{}\"/></testcase>\n", xml(result.reason));
    else
      cases += fmt::format("><failure message=\"{}\">{}\n</failure></testcase>\n", xml(result.reason),
                           xml(fmt::format("{}", fmt::join(result.tail, "\n"))));
  }
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<testsuite name=\"{}.{}\" tests=\"{}\" failures=\"{}\" skipped=\"{}\" errors=\"0\" "
      "time=\"{:.3f}\">\n{}"
      "</testsuite>\n",
      xml(plan.model_name), xml(plan.mode), results.size(), failed, skipped, seconds, cases);
}

}  // namespace octet::tipc
