#pragma once
#include <fmt/format.h>

#include <string>
#include <string_view>

#include "octet/error.h"

namespace octet {

// Names come from files and may hold anything: a newline becomes a space, other control characters are shown
// as \x1b.
std::string printable(std::string_view text);

// Throws an Error about the user's input:  fail("{}: no such file", path).
template <class... Args>
[[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) {
  throw Error(fmt::format(format, std::forward<Args>(args)...));
}

// Checks what only a bug in octet can break, and says so in a sentence. Input from outside never reaches one.
inline void check(bool holds, const char* sentence) {
  if (!holds) throw Error(std::string("internal error: ") + sentence, Error::Kind::kInternal);
}

}  // namespace octet
