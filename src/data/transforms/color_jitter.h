#pragma once
#include "data/transform.h"

namespace octet {

// Colours change by random amounts, in random order. Factors are drawn from [1 - x, 1 + x], the hue's
// shift from [-x, x] of the colour circle (at most 0.5).
struct ColorJitter {
  static const TransformRow kRow;
  double brightness = 0;
  double contrast = 0;
  double saturation = 0;
  double hue = 0;

  void settings(Settings& settings);
  void check() const;
  void apply(Example& example, Random& random) const;
  bool operator==(const ColorJitter&) const = default;
};

}  // namespace octet
