#pragma once
#include "data/transform.h"

namespace octet {

// Left and right change places, this often.
struct RandomHorizontalFlip {
  static const TransformRow kRow;
  double prob = 0.5;

  void settings(Settings& settings);
  void check() const;
  void apply(Example& example, Random& random) const;
  bool operator==(const RandomHorizontalFlip&) const = default;
};

// Top and bottom change places, this often.
struct RandomVerticalFlip {
  static const TransformRow kRow;
  double prob = 0.1;

  void settings(Settings& settings);
  void check() const;
  void apply(Example& example, Random& random) const;
  bool operator==(const RandomVerticalFlip&) const = default;
};

}  // namespace octet
