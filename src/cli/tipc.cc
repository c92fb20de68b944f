#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "base/cuda.h"
#include "base/error.h"
#include "base/file.h"
#include "cli/command.h"
#include "cli/output.h"
#include "tipc/config.h"
#include "tipc/plan.h"
#include "tipc/prepare.h"
#include "tipc/runner.h"

namespace octet::cli {

namespace {

namespace fs = std::filesystem;
using tipc::Result;

struct Options {
  std::string action, config, mode, junit;
  bool dry_run = false, keep_going = true, fail_fast = false;
  int jobs = 1;
  std::optional<int> timeout;
};

volatile std::sig_atomic_t stop_signal = 0;

void ask_to_stop(int signal) {
  stop_signal = signal;
}

bool is_stopped() {
  return stop_signal != 0;
}

// What was started is ended before this program is.
void stop_on_signals() {
  for (int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction action {};
    ::sigaction(signal, nullptr, &action);
    if (action.sa_handler == SIG_IGN) continue;
    action.sa_handler = ask_to_stop;
    action.sa_flags = SA_RESTART;
    ::sigaction(signal, &action, nullptr);
  }
}

fs::path own_program() {
  std::error_code error;
  return fs::read_symlink("/proc/self/exe", error);
}

int prepare(const Options& options, const tipc::Config& config) {
  tipc::prepare(config, options.mode,
                {.octet = own_program(),
                 .say =
                     [](const std::string& line) {
                       say("{}\n", printable(line));
                       flush_output();
                     },
                 .stop = is_stopped});
  say("ready: {} {}\n", printable(options.config), options.mode);
  return 0;
}

void print_commands(const tipc::Plan& plan) {
  for (const tipc::Step& step : plan.steps)
    say("{}{}\n", printable(step.reported()), step.skip.empty() ? "" : "  # skipped: " + step.skip);
}

int run(const Options& options, const tipc::Config& config) {
  constexpr int kAnHour = 3600;
  const tipc::Plan plan = tipc::make_plan(config, options.mode, has_cuda_device());
  for (const std::string& notice : plan.notices) fmt::print(stderr, "octet: notice: {}\n", printable(notice));
  if (options.dry_run) {
    print_commands(plan);
    return 0;
  }
  const bool colored = ::isatty(STDOUT_FILENO) != 0;
  tipc::RunOptions run;
  run.timeout =
      std::chrono::seconds(options.timeout.value_or(options.mode == "whole_train_whole_infer" ? 0 : kAnHour));
  run.jobs = options.jobs;
  run.fail_fast = options.fail_fast || !options.keep_going;
  // `python:octet` is this one.
  const char* path = std::getenv("PATH");
  run.environment = {
      fmt::format("PATH={}:{}", own_program().parent_path().string(), path ? path : "/usr/bin:/bin")};
  run.stop = is_stopped;
  if (::isatty(STDERR_FILENO))
    run.started = [](const tipc::Step& step) { fmt::print(stderr, "{}: {} ...\n", step.row, step.stage); };
  run.finished = [colored](const tipc::Step& step, const Result& result) {
    const std::string text = tipc::report(step, result);
    const std::size_t end = text.find('\n');
    say("{}{}{}{}", colored ? "\033[33m" : "", text.substr(0, end), colored ? "\033[0m" : "",
        text.substr(end));
    flush_output();
  };
  const std::vector<Result> results = tipc::run_plan(plan, run);

  int counts[3] = {};
  for (const Result& result : results) ++counts[static_cast<int>(result.status)];
  const auto [passed, failed, skipped] = counts;
  say("{} commands: {} ran successfully, {} failed, {} skipped; {}\n", results.size(), passed, failed,
      skipped, printable((plan.folder / "results_python.log").string()));
  if (!options.junit.empty()) {
    save_file(options.junit, tipc::to_junit(plan, results));
  }
  if (stop_signal != 0) return 128 + stop_signal;
  return failed > 0 ? 1 : 0;
}

int prepare_or_run(const Options& options) {
  const tipc::Config config = tipc::Config::load(options.config);
  stop_on_signals();
  return options.action == "prepare" ? prepare(options, config) : run(options, config);
}

}  // namespace

std::function<int()> declare_tipc(Args& args) {
  auto options = std::make_shared<Options>();
  args.group("What");
  args.add_positional("ACTION", &options->action, "prepare|run",
                      "prepare: make the data and models that are needed; run: test the chain")
      .required = true;
  args.add_positional("CONFIG", &options->config, "FILE", "the file with the commands").required = true;
  args.add_positional("MODE", &options->mode, fmt::format("{}", fmt::join(tipc::kModes, "|")),
                      fmt::format("how much to train and infer: {}", fmt::join(tipc::kModes, ", ")))
      .required = true;
  args.group("How it runs");
  args.add("dry-run", &options->dry_run, "print the commands, run none");
  args.add("keep-going", &options->keep_going, "after a failure, continue with what does not depend on it");
  args.add("fail-fast", &options->fail_fast, "run nothing more after the first failure");
  args.add("jobs", &options->jobs, {1, 1024}, "rows of the matrix to run at once").aliases = {"j"};
  args.add("timeout", &options->timeout, {0, 1 << 30}, "time limit for each command in seconds; 0: none")
      .default_text = "3600; whole_train_whole_infer: 0";
  args.add("junit", &options->junit, "FILE", "also write the results to FILE, for a CI system");
  args.note(
      "Prints a line for each command and appends it to ./log/MODEL/MODE/results_python.log; what the "
      "commands print is "
      "beside it. The exit code is 0 if nothing failed, 1 if something did.");
  args.example("octet tipc prepare test_tipc/configs/resnet18/train_infer_python.txt lite_train_lite_infer");
  args.example("octet tipc run test_tipc/configs/resnet18/train_infer_python.txt lite_train_lite_infer");
  return [options] { return prepare_or_run(*options); };
}

}  // namespace octet::cli
