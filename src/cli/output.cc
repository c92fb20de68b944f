#include "cli/output.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/error.h"

namespace octet::cli {

namespace {

[[noreturn]] void fail_to_write(int error) {
  if (error == EPIPE) throw StdoutClosed();
  fail("cannot write to the standard output: {}", std::strerror(error));
}

}  // namespace

void write_output(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) fail_to_write(errno);
}

void flush_output() {
  if (std::fflush(stdout) != 0) fail_to_write(errno);
}

void print_error(std::string_view message) {
  std::string line = "octet: error: " + printable(message) + "\n";
  std::fwrite(line.data(), 1, line.size(), stderr);
}

void print_warning(std::string_view message) {
  std::string line = "octet: warning: " + printable(message) + "\n";
  std::fwrite(line.data(), 1, line.size(), stderr);
}

}  // namespace octet::cli
