#pragma once
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/paths.h"

namespace octet {

struct ProgramResult {
  int exit_code;  // 128 + the signal's number when one killed it
  std::string out, err;
};

// Runs a program to its end in the folder `cwd` and returns what it printed; one that hangs is killed.
inline ProgramResult run_command(const std::vector<std::string>& words,
                                 const std::filesystem::path& cwd = ".") {
  constexpr unsigned kSecondsAllowed = 60;
  auto make_file = [] {
    return std::unique_ptr<std::FILE, int (*)(std::FILE*)>(std::tmpfile(), std::fclose);
  };
  auto out = make_file(), err = make_file();
  std::vector<char*> argv;
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  pid_t child = ::fork();
  if (child == 0) {
    ::dup2(::fileno(out.get()), STDOUT_FILENO);
    ::dup2(::fileno(err.get()), STDERR_FILENO);
    ::alarm(kSecondsAllowed);  // survives exec
    if (::chdir(cwd.c_str()) == 0) ::execvp(argv[0], argv.data());
    ::_exit(127);
  }
  int status = 0;
  if (child < 0 || ::waitpid(child, &status, 0) != child)
    throw std::runtime_error("cannot start " + words.at(0));
  auto read_all = [](std::FILE* file) {
    std::string text;
    std::rewind(file);
    for (int c; (c = std::fgetc(file)) != EOF;) text += static_cast<char>(c);
    return text;
  };
  int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return {code, read_all(out.get()), read_all(err.get())};
}

// The octet program that was built with the tests.
inline ProgramResult run_octet(std::vector<std::string> words, const std::filesystem::path& cwd = ".") {
  words.insert(words.begin(), kProgram);
  return run_command(words, cwd);
}

// A line of shell, in which `octet` is that program.
inline ProgramResult run_shell(const std::string& line, const std::filesystem::path& cwd = ".") {
  std::string folder = std::filesystem::path(kProgram).parent_path().string();
  return run_command({"bash", "-c", "PATH='" + folder + "':$PATH; " + line}, cwd);
}

}  // namespace octet
