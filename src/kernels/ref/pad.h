#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace octet::ref {

// For each position along an axis of a padded output, the one of the input that it copies; -1: the constant.
std::vector<std::int64_t> pad_sources(std::int64_t in, std::int64_t out, std::int64_t before,
                                      const std::string& mode);

}  // namespace octet::ref
