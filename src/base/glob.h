#pragma once
#include <string_view>

namespace octet {

// Whether `name` is what the pattern says: "conv*", "fc?" or a plain name.
bool matches(std::string_view glob, std::string_view name);

}  // namespace octet
