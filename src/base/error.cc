#include "base/error.h"

namespace octet {

std::string printable(std::string_view text) {
  std::string result;
  for (char c : text) {
    auto code = static_cast<unsigned char>(c);
    if (c == '\n')
      result += ' ';
    else if (code < 0x20 || code == 0x7f)
      result += fmt::format("\\x{:02x}", code);
    else
      result += c;
  }
  return result;
}

Error::Error(const std::string& message, Kind kind) : std::runtime_error(printable(message)), kind_(kind) {}

}  // namespace octet
