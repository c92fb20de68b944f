#include "data/lines.h"

#include <algorithm>

#include "base/error.h"

namespace octet {

namespace {

std::string_view trim(std::string_view line) {
  constexpr std::string_view kBlank = " \t\r";
  const std::size_t begin = line.find_first_not_of(kBlank);
  if (begin == std::string_view::npos) return {};
  return line.substr(begin, line.find_last_not_of(kBlank) + 1 - begin);
}

}  // namespace

std::vector<Line> lines_of(std::string_view text, const std::string& name) {
  constexpr std::size_t kMaxLine = 4096;
  std::vector<Line> lines;
  std::int64_t number = 0;
  for (std::size_t at = text.starts_with("\xef\xbb\xbf") ? 3 : 0, end; at < text.size(); at = end + 1) {
    end = std::min(text.find('\n', at), text.size());
    ++number;
    const std::string_view line = trim(text.substr(at, end - at));
    if (line.empty()) continue;
    lines.push_back({line, fmt::format("{}:{}", name, number)});
    if (line.size() > kMaxLine)
      fail("{}: a line of {} bytes; is this a list of pictures?", lines.back().where, line.size());
  }
  return lines;
}

}  // namespace octet
