#pragma once
#include <span>
#include <string>
#include <string_view>

namespace octet {

// The one of `candidates` that `word` is probably a misspelling of, or "".
std::string nearest(std::string_view word, std::span<const std::string> candidates);

}  // namespace octet
