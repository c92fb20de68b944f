#pragma once
#include "data/transform.h"

// To a size of two numbers.
namespace octet {

// The picture becomes width x height, whatever its ratio was.
struct Resize {
  static const TransformRow kRow;
  int width = 224, height = 224;
  Interpolation interpolation = Interpolation::kBilinear;

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
