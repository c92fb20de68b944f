#pragma once
#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace octet::tipc {

struct ProcessOptions {
  std::filesystem::path log = {};  // gets what the command prints
  bool append = false;
  std::vector<std::string> environment = {};  // NAME=value, in place of or beside what this process has
  std::chrono::milliseconds timeout{0};       // 0: none
  std::function<bool()> stop = nullptr;       // asked while it runs: true ends it
};

struct ProcessResult {
  enum class End { kExited, kKilled, kTimeout, kStopped };
  End end = End::kExited;
  int code = 0;  // the exit code, or the signal that killed it

  bool succeeded() const { return end == End::kExited && code == 0; }
  std::string describe() const;  // "exit code 2"
};

// Runs a line of shell to its end. Whatever it has started and left behind is ended with it, at the time
// limit or not, in whatever process group or session: every child carries a mark in its environment.
ProcessResult run_process(const std::string& command, const ProcessOptions& options);

}  // namespace octet::tipc
