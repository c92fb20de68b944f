#pragma once
#include "data/transform.h"
#include "data/transforms/scaling.h"

// Borders on the right and at the bottom.
namespace octet {

// What a border has.
struct Border {
  std::array<float, 3> im_padding_value = {127.5f, 127.5f, 127.5f};
  int label_padding_value = Mask::kIgnored;

  void settings(Settings& settings);
  void check() const;
  bool operator==(const Border&) const = default;
};

// To width x height, which the picture must not exceed.
struct Padding {
  static const TransformRow kRow;
  std::array<int, 2> target_size = {512, 512};
  Border border = {};

  void settings(Settings& settings);
  void check() const;
  void apply(Example& example, Random& random) const;
  bool operator==(const Padding&) const = default;
};

// To a ratio of width to height.
struct PaddingByAspectRatio {
  static const TransformRow kRow;
  double aspect_ratio = 1;
  Border border = {};

  void settings(Settings& settings);
  void check() const;
  void apply(Example& example, Random& random) const;
  bool operator==(const PaddingByAspectRatio&) const = default;
};

// A part at a random place; a picture that is smaller gets a border first. With a ratio below 1 up to so many
// places are tried, until one has more than one class and none of them has a larger share.
struct RandomPaddingCrop {
  static const TransformRow kRow;
  std::array<int, 2> crop_size = {512, 512};
  Border border = {};
  double category_max_ratio = 1;
  int ignore_index = Mask::kIgnored;
  int loop_times = 10;

  // Of a picture of this size; `mask` is its mask, or nullptr.
  Box choose(int width, int height, const Mask* mask, Random& random) const;
  void settings(Settings& settings);
  void check() const;
  void apply(Example& example, Random& random) const;
  bool operator==(const RandomPaddingCrop&) const = default;
};

// A random scaling and then a RandomPaddingCrop, without computing what is cut off. PreparedTransforms makes
// it; files don't name it.
struct ScalingAndPaddingCrop {
  static const TransformRow kRow;
  Transform scaling = ResizeStepScaling{};  // or a ResizeRangeScaling
  RandomPaddingCrop crop;

  void settings(Settings&) {}
  void check() const {}
  void apply(Example& example, Random& random) const;
  bool operator==(const ScalingAndPaddingCrop&) const = default;
};

}  // namespace octet
