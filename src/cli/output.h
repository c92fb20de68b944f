#pragma once
#include <fmt/format.h>

#include <string>
#include <string_view>

#include "base/error.h"

namespace octet::cli {

// Thrown when nobody reads stdout any more (`octet ... | head`): the program ends quietly.
struct StdoutClosed {};

// Everything a command prints. A full disk or a closed pipe is noticed here or at flush_output(), not lost.
void write_output(std::string_view text);
void flush_output();

template <class... Args>
void say(fmt::format_string<Args...> format, Args&&... args) {
  write_output(fmt::format(format, std::forward<Args>(args)...));
}

// One line on stderr.
void print_error(std::string_view message);    // octet: error: ...
void print_warning(std::string_view message);  // octet: warning: ...

}  // namespace octet::cli
