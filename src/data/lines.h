#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace octet {

// A line of a list of files.
struct Line {
  std::string_view text;  // without blanks around it
  std::string where;      // the file and the line, for messages
};

// The lines of a text that are not empty; `name` is its file. An Error when one is too long for a list.
std::vector<Line> lines_of(std::string_view text, const std::string& name);

}  // namespace octet
