#pragma once
#include "data/transform.h"

// Which colours there are, and in which order.
namespace octet {

// Blue, green, red: what models expect whose pictures were read by OpenCV. Means and deviations behind it are
// in that order.
struct ToBGR {
  static const TransformRow kRow;

  void settings(Settings&) {}
  void check() const {}
  void apply(Example& example, Random& random) const;
  bool operator==(const ToBGR&) const = default;
};

// The luminance, as Pillow's convert("L") has it. Normalize then gives one plane in place of three.
struct ToGray {
  static const TransformRow kRow;

  void settings(Settings&) {}
  void check() const {}
  void apply(Example& example, Random& random) const;
  bool operator==(const ToGray&) const = default;
};

}  // namespace octet
