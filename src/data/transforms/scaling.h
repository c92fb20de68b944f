#pragma once
#include <optional>

#include "data/transform.h"

// To sizes that follow from the picture's own: PaddleSeg's, with OpenCV's interpolation of floats.
namespace octet {

// Width and height.
struct PictureSize {
  int width;
  int height;
};

// The long side becomes `long_size`, the other one follows.
struct ResizeByLong {
  static const TransformRow kRow;
  int long_size = 512;

  void settings(Settings& settings);
  void check() const;
  void apply(Example& example, Random& random) const;
  bool operator==(const ResizeByLong&) const = default;
};

// The short side becomes `short_size`, unless the long one would be more than `max_size`.
struct ResizeByShort {
  static const TransformRow kRow;
  int short_size = 512;
  double max_size = 1e10;

  void settings(Settings& settings);
  void check() const;
  void apply(Example& example, Random& random) const;
  bool operator==(const ResizeByShort&) const = default;
};

// A long side outside of the two becomes the nearer one.
struct LimitLong {
  static const TransformRow kRow;
  std::optional<int> max_long = {}, min_long = {};

  void settings(Settings& settings);
  void check() const;
  void apply(Example& example, Random& random) const;
  bool operator==(const LimitLong&) const = default;
};

// The long side becomes a random one.
struct ResizeRangeScaling {
  static const TransformRow kRow;
  int min_value = 400, max_value = 600;

  PictureSize size_for(const Example& example, Random& random) const;
  void settings(Settings& settings);
  void check() const;
  void apply(Example& example, Random& random) const;
  bool operator==(const ResizeRangeScaling&) const = default;
};

// By a random factor: one of those that are a step apart, or with a step of 0 any of the range.
struct ResizeStepScaling {
  static const TransformRow kRow;
  double min_scale_factor = 0.75, max_scale_factor = 1.25, scale_step_size = 0.25;

  PictureSize size_for(const Example& example, Random& random) const;
  void settings(Settings& settings);
  void check() const;
  void apply(Example& example, Random& random) const;
  bool operator==(const ResizeStepScaling&) const = default;
};

// A random part, of at least this share of the area and of an aspect from `aspect_ratio` to its inverse,
// fills the picture.
struct RandomScaleAspect {
  static const TransformRow kRow;
  double min_scale = 0.5, aspect_ratio = 0.33;

  void settings(Settings& settings);
  void check() const;
  void apply(Example& example, Random& random) const;
  bool operator==(const RandomScaleAspect&) const = default;
};

}  // namespace octet
