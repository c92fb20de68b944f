#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace octet {

struct Scored {
  std::int64_t index;
  float score;
};

// The `k` largest scores (all when there are fewer), best first; of equal ones the lower index first. NaN
// ranks last.
std::vector<Scored> top_k(std::span<const float> scores, std::int64_t k);

}  // namespace octet
