#pragma once
#include <cstdint>
#include <span>

namespace octet {

// How often a classifier is right: update() with one picture after the other.
struct Accuracy {
  std::int64_t samples = 0;
  std::int64_t top1 = 0;  // how often the label has the best score
  std::int64_t top5 = 0;  // and one of the five best, or of all when there are fewer classes

  void update(std::span<const float> scores, std::int64_t label);

  double acc1() const { return share(top1); }
  double acc5() const { return share(top5); }

 private:
  double share(std::int64_t count) const {
    return samples == 0 ? 0 : static_cast<double>(count) / static_cast<double>(samples);
  }
};

}  // namespace octet
