#include "tipc/process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <thread>

#include "base/error.h"

namespace octet::tipc {

namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr const char* kMark = "OCTET_TIPC_STEP";
constexpr milliseconds kPollInterval{20};
constexpr milliseconds kGrace{3000};  // between asking to end and ending

// This process's environment with other values for some names.
std::vector<std::string> environment_with(const std::vector<std::string>& changes) {
  std::vector<std::string> result = changes;
  for (char** entry = ::environ; *entry; ++entry) {
    const std::string_view text = *entry;
    const std::string_view name = text.substr(0, text.find('=') + 1);
    bool is_changed = false;
    for (const std::string& change : changes)
      is_changed = is_changed || (!name.empty() && change.starts_with(name));
    if (!is_changed) result.emplace_back(text);
  }
  return result;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

// The processes that carry the mark. One that has ended, even if nobody has waited for it, has no
// environment.
std::vector<pid_t> marked(const std::string& mark) {
  std::vector<pid_t> result;
  std::error_code error;
  for (fs::directory_iterator entry("/proc", error), end; !error && entry != end; entry.increment(error)) {
    const pid_t pid = std::atoi(entry->path().filename().c_str());
    if (pid <= 0 || pid == ::getpid()) continue;
    std::ifstream in(entry->path() / "environ", std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    if (text.find(mark) != std::string::npos) result.push_back(pid);
  }
  return result;
}

void signal_all(pid_t group, const std::string& mark, int signal) {
  if (group > 0) ::kill(-group, signal);
  for (pid_t pid : marked(mark)) ::kill(pid, signal);
}

// Asks everything that carries the mark to end, and ends it. `group` is the child's, or 0 once it was waited
// for.
void end_all(pid_t group, const std::string& mark) {
  signal_all(group, mark, SIGTERM);
  for (Clock::time_point start = Clock::now(); Clock::now() - start < kGrace;) {
    if (marked(mark).empty()) return;
    std::this_thread::sleep_for(kPollInterval);
  }
  // Again and again: one that is just being started would be missed.
  for (int i = 0; i < 100 && !marked(mark).empty(); ++i) {
    signal_all(group, mark, SIGKILL);
    std::this_thread::sleep_for(kPollInterval);
  }
}

pid_t start(const std::string& command, const ProcessOptions& options, const std::string& mark) {
  std::vector<std::string> changes = options.environment;
  const char* outer = std::getenv(kMark);  // a harness in a harness: both find it
  changes.push_back(fmt::format("{}={}{}", kMark, outer ? outer : "", mark));
  std::vector<std::string> environment = environment_with(changes), words = {"/bin/sh", "-c", command};

  posix_spawn_file_actions_t files;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, options.log.c_str(),
                                     O_WRONLY | O_CREAT | O_APPEND | (options.append ? 0 : O_TRUNC), 0666);
  ::posix_spawn_file_actions_adddup2(&files, STDOUT_FILENO, STDERR_FILENO);

  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  ::posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  ::posix_spawnattr_setpgroup(&attributes, 0);
  sigset_t set;
  ::sigemptyset(&set);
  ::posix_spawnattr_setsigmask(&attributes, &set);
  for (int signal : {SIGPIPE, SIGXFSZ}) ::sigaddset(&set, signal);  // octet ignores them
  ::posix_spawnattr_setsigdefault(&attributes, &set);

  pid_t child = 0;
  const int error = ::posix_spawn(&child, words[0].c_str(), &files, &attributes, pointers(words).data(),
                                  pointers(environment).data());
  ::posix_spawn_file_actions_destroy(&files);
  ::posix_spawnattr_destroy(&attributes);
  if (error != 0)
    fail("'{}' can't be started with its output in {}: {}", command, options.log.string(),
         std::strerror(error));
  return child;
}

}  // namespace

std::string ProcessResult::describe() const {
  switch (end) {
    case End::kTimeout:
      return "stopped at its time limit";
    case End::kStopped:
      return "interrupted";
    case End::kKilled:
      return fmt::format("killed by signal {} ({})", code, ::strsignal(code));
    default:
      return fmt::format("exit code {}", code);
  }
}

ProcessResult run_process(const std::string& command, const ProcessOptions& options) {
  static std::atomic<int> count = 0;
  const std::string mark = fmt::format("/{}.{}/", ::getpid(), count++);
  const Clock::time_point begin = Clock::now();
  const pid_t child = start(command, options, mark);

  ProcessResult result;
  int status = 0;
  while (::waitpid(child, &status, WNOHANG) != child) {
    const bool is_late = options.timeout.count() > 0 && Clock::now() - begin > options.timeout;
    const bool is_stopped = options.stop && options.stop();
    if (is_late || is_stopped) {
      result.end = is_late ? ProcessResult::End::kTimeout : ProcessResult::End::kStopped;
      end_all(child, mark);
      ::kill(-child, SIGKILL);  // what could not be looked into
      ::waitpid(child, &status, 0);
      return result;
    }
    std::this_thread::sleep_for(kPollInterval);
  }
  if (!marked(mark).empty()) end_all(0, mark);
  result.end = WIFEXITED(status) ? ProcessResult::End::kExited : ProcessResult::End::kKilled;
  result.code = WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status);
  return result;
}

}  // namespace octet::tipc
