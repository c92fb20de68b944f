#pragma once
#include "data/transform.h"
#include "data/transforms/padding.h"

namespace octet {

// By up to so many degrees either way. The picture grows so that nothing is cut off.
struct RandomRotation {
  static const TransformRow kRow;
  double max_rotation = 15;
  Border border = {};

  void settings(Settings& settings);
  void check() const;
  void apply(Example& example, Random& random) const;
  bool operator==(const RandomRotation&) const = default;
};

// The picture and its mask by this angle, against the clock.
void rotate_example(Example& example, double degrees, const Border& border);

}  // namespace octet
