#pragma once
#include <string>

#include "data/transform.h"

namespace octet {

// A blur of OpenCV's with a window of 3 to 9 pixels, this often: 1 / (1 / prob rounded down). `random` is one
// of the three.
struct RandomBlur {
  static const TransformRow kRow;
  double prob = 0.1;
  std::string blur_type = "gaussian";  // or median, blur, random

  void settings(Settings& settings);
  void check() const;
  void apply(Example& example, Random& random) const;
  bool operator==(const RandomBlur&) const = default;
};

}  // namespace octet
