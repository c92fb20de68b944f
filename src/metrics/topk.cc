#include "metrics/topk.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace octet {

std::vector<Scored> top_k(std::span<const float> scores, std::int64_t k) {
  std::vector<std::int64_t> order(scores.size());
  std::iota(order.begin(), order.end(), std::int64_t{0});
  const auto score = [&](std::int64_t i) { return scores[static_cast<std::size_t>(i)]; };
  const auto better = [&](std::int64_t a, std::int64_t b) {
    const bool a_is_nan = std::isnan(score(a)), b_is_nan = std::isnan(score(b));
    if (a_is_nan != b_is_nan) return b_is_nan;
    if (!a_is_nan && score(a) != score(b)) return score(a) > score(b);
    return a < b;
  };
  const auto end = order.begin() + std::clamp<std::int64_t>(k, 0, static_cast<std::int64_t>(order.size()));
  std::partial_sort(order.begin(), end, order.end(), better);
  std::vector<Scored> best;
  for (auto it = order.begin(); it != end; ++it) best.push_back({*it, score(*it)});
  return best;
}

}  // namespace octet
