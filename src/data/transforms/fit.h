#pragma once
#include <optional>

#include "data/transform.h"

// To a size of two numbers.
namespace octet {

// The picture becomes width x height, whatever its ratio was. With keep_ratio it keeps that: of its sides the
// longer one is at most the longer of the two, and the shorter one the shorter. With a divisor each side
// grows to the next multiple of it. Files have octet's spelling (width, height, interpolation) or PaddleSeg's
// (target_size, interp and the other two).
struct Resize {
  static const TransformRow kRow;
  int width = 512, height = 512;
  Interpolation interpolation = Interpolation::kBilinear;
  bool keep_ratio = false;
  std::optional<int> size_divisor = {};

  void settings(Settings& settings);
  void check() const;
  void apply(Example& example, Random& random) const;
  bool operator==(const Resize&) const = default;
};

// The picture keeps its ratio and is scaled to fit into width x height; what is left on two sides, the same
// on both, is filled. A mask is ignored there.
struct Letterbox {
  static const TransformRow kRow;
  int width = 224, height = 224;
  int fill = 0;  // of all three colours
  Interpolation interpolation = Interpolation::kBilinear;

  void settings(Settings& settings);
  void check() const;
  void apply(Example& example, Random& random) const;
  bool operator==(const Letterbox&) const = default;
};

}  // namespace octet
