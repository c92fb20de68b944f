#include "base/memory.h"

#include <sys/resource.h>

#include <atomic>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "base/error.h"

namespace octet {

namespace {

std::atomic<std::size_t> limit{0};

constexpr std::string_view kUnits = "KMGT";

}  // namespace

void limit_memory(std::size_t bytes) {
  constexpr std::size_t kLeast = std::size_t{64} << 20;  // the program itself and its messages
  if (bytes < kLeast)
    fail("{} is less than the {} that octet itself takes", size_text(bytes), size_text(kLeast));
  struct rlimit limits {};
  if (::getrlimit(RLIMIT_DATA, &limits) != 0) limits.rlim_max = RLIM_INFINITY;
  limits.rlim_cur = std::min<rlim_t>(bytes, limits.rlim_max);
  limits.rlim_max = limits.rlim_cur;  // for the processes that it starts, too
  if (::setrlimit(RLIMIT_DATA, &limits) != 0)
    fail("the system can't limit the memory of a process: {}", std::strerror(errno));
  limit = bytes;
}

std::size_t memory_limit() {
  return limit;
}

void fail_for_memory(const std::string& what) {
  const std::size_t most = limit;
  throw OutOfMemory("out of memory: " + what +
                    (most == 0 ? "" : fmt::format(", and all together may take {}", size_text(most))));
}

std::string size_text(std::size_t bytes) {
  auto number = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (number >= 1000 && unit < kUnits.size()) {
    number /= 1024;
    ++unit;
  }
  if (unit == 0) return fmt::format("{} bytes", bytes);
  return fmt::format("{:.{}f} {}B", number, number < 10 && number != std::floor(number) ? 1 : 0,
                     kUnits[unit - 1]);
}

std::size_t parse_size(const std::string& text) {
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  std::string unit;
  for (; *end != '\0'; ++end)
    if (*end != ' ') unit += static_cast<char>(std::toupper(static_cast<unsigned char>(*end)));
  double factor = 1;
  const std::size_t at = unit.empty() ? std::string_view::npos : kUnits.find(unit[0]);
  if (at != std::string_view::npos) {
    factor = std::ldexp(1.0, 10 * (static_cast<int>(at) + 1));
    unit.erase(0, 1);
    if (unit.starts_with("IB")) unit.erase(0, 1);
  }
  constexpr double kMost = 1e15;
  const bool digit = !text.empty() && text.find_first_not_of("0123456789.") != 0;
  if (!digit || !(number > 0) || number * factor > kMost || !(unit.empty() || unit == "B"))
    fail("'{}' is not a size, such as 1GB or 512MB", text);
  return static_cast<std::size_t>(number * factor);
}

}  // namespace octet
