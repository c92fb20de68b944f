#pragma once
#include <algorithm>

namespace octet::train {

// Grows while gradients stay finite, shrinks when they do not: float16 has no small numbers to spare.
struct LossScale {
  static constexpr double kInitial = 1024;
  static constexpr int kGrowAfter = 1000;
  double scale = 1;
  int good_steps = 0;

  void update(bool finite) {
    if (!finite) {
      scale = std::max(scale / 2, 1.0);
      good_steps = 0;
    } else if (++good_steps == kGrowAfter) {
      scale = std::min(scale * 2, 65536.0);
      good_steps = 0;
    }
  }
};

}  // namespace octet::train
