#include "metrics/accuracy.h"

#include <cmath>

#include "metrics/topk.h"

namespace octet {

void Accuracy::update(std::span<const float> scores, std::int64_t label) {
  constexpr int kTop = 5;
  ++samples;
  int place = 0;
  for (const Scored& best : top_k(scores, kTop)) {
    // A network that answers NaN is never right.
    if (best.index == label && !std::isnan(best.score)) {
      top1 += place == 0;
      ++top5;
    }
    ++place;
  }
}

}  // namespace octet
