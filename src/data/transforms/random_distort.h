#pragma once
#include "data/transform.h"

namespace octet {

// PaddleSeg's changes of colours, in random order, each with its probability: Pillow's brightness, contrast,
// saturation and sharpness by a factor of [1 - range, 1 + range], and the hue, of 256 steps, by up to
// hue_range.
struct RandomDistort {
  static const TransformRow kRow;
  double brightness_range = 0.5, brightness_prob = 0.5;
  double contrast_range = 0.5, contrast_prob = 0.5;
  double saturation_range = 0.5, saturation_prob = 0.5;
  double hue_range = 18, hue_prob = 0.5;
  double sharpness_range = 0.5, sharpness_prob = 0;

  void settings(Settings& settings);
  void check() const;
  void apply(Example& example, Random& random) const;
  bool operator==(const RandomDistort&) const = default;
};

}  // namespace octet
