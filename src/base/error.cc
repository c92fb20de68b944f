#include "base/error.h"

namespace octet {

namespace {

std::string one_line(std::string text) {
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  return text;
}

}  // namespace

Error::Error(std::string message, Kind kind)
    : std::runtime_error(one_line(std::move(message))), kind_(kind) {}

}  // namespace octet
