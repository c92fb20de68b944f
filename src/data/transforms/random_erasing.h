#pragma once
#include "data/transform.h"

namespace octet {

// A random rectangle becomes 0, this often. A mask keeps its classes: they are to be guessed from around it.
struct RandomErasing {
  static const TransformRow kRow;
  double prob = 0.5;

  void settings(Settings& settings);
  void check() const;
  void apply(Example& example, Random& random) const;
  bool operator==(const RandomErasing&) const = default;
};

}  // namespace octet
