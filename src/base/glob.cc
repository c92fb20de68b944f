#include "base/glob.h"

namespace octet {

bool matches(std::string_view glob, std::string_view name) {
  if (glob.empty()) return name.empty();
  if (glob[0] == '*')
    return matches(glob.substr(1), name) || (!name.empty() && matches(glob, name.substr(1)));
  return !name.empty() && (glob[0] == '?' || glob[0] == name[0]) && matches(glob.substr(1), name.substr(1));
}

}  // namespace octet
