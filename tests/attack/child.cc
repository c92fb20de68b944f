#include "attack/child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <stdexcept>

#include "cli/program.h"

namespace octet::attack {

Outcome run_in_child(const std::vector<std::string>& words, const Limits& limits) {
  const int err = ::memfd_create("stderr", 0);
  std::fflush(nullptr);
  const pid_t child = err < 0 ? -1 : ::fork();
  if (child < 0) throw std::runtime_error("no process for a mutant");
  if (child == 0) {
    const int nothing = ::open("/dev/null", O_RDWR);
    ::dup2(nothing, STDIN_FILENO);
    ::dup2(nothing, STDOUT_FILENO);
    ::dup2(err, STDERR_FILENO);
    struct rlimit core {};
    ::setrlimit(RLIMIT_CORE, &core);
    if (limits.cpu_seconds > 0) {
      const auto seconds = static_cast<rlim_t>(limits.cpu_seconds);
      const struct rlimit cpu { seconds, seconds + 1 };
      ::setrlimit(RLIMIT_CPU, &cpu);
    }
    ::alarm(static_cast<unsigned>(limits.wall_seconds));
    std::exit(cli::run_program(words));
  }
  int status = 0;
  struct rusage usage {};
  if (::wait4(child, &status, 0, &usage) != child) throw std::runtime_error("lost a process");
  Outcome outcome;
  outcome.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  outcome.cpu_seconds = seconds(usage.ru_utime) + seconds(usage.ru_stime);
  outcome.peak_kilobytes = usage.ru_maxrss;
  std::string said(static_cast<std::size_t>(::lseek(err, 0, SEEK_END)), '\0');
  if (::pread(err, said.data(), said.size(), 0) == static_cast<ssize_t>(said.size())) outcome.said = said;
  ::close(err);
  return outcome;
}

std::string complaint(const Outcome& outcome, double cpu_limit, long kilobyte_limit) {
  if (outcome.exit_code == 128 + SIGXCPU || outcome.cpu_seconds > cpu_limit)
    return fmt::format("took more than {} s", cpu_limit);
  if (outcome.exit_code == 128 + SIGALRM) return "never ended";
  if (outcome.exit_code != 0 && outcome.exit_code != 2) return fmt::format("exit code {}", outcome.exit_code);
  if (outcome.peak_kilobytes > kilobyte_limit) return fmt::format("took {} MB", outcome.peak_kilobytes >> 10);
  // One line for an error; notices before it are fine.
  std::istringstream lines(outcome.said);
  int errors = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("octet: error: ")) ++errors;
    if (!line.starts_with("octet: ") && errors > 0) return "an error of two lines";
    if (line.find("internal error") != std::string::npos) return "an internal error";
    for (char c : line)
      if (static_cast<unsigned char>(c) < 0x20 && c != '\t' && c != '\r') return "a control character";
  }
  if (errors != (outcome.exit_code == 2 ? 1 : 0)) return fmt::format("{} errors", errors);
  return "";
}

}  // namespace octet::attack
