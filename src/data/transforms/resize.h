#pragma once
#include "data/transform.h"

namespace octet {

// The short side becomes `size`, the long one follows, rounded down: paddle.vision.transforms.Resize with one
// number.
struct ResizeShort {
  static const TransformRow kRow;
  int size = 256;
  Interpolation interpolation = Interpolation::kBilinear;

  void settings(Settings& settings);
  void check() const;
  void apply(Example& example, Random& random) const;
  bool operator==(const ResizeShort&) const = default;
};

// The central square. A smaller picture gets a black border, a smaller mask one that is ignored.
struct CenterCrop {
  static const TransformRow kRow;
  int size = 224;

  void settings(Settings& settings);
  void check() const;
  void apply(Example& example, Random& random) const;
  bool operator==(const CenterCrop&) const = default;
};

// One after the other, without computing what is cut off. PreparedTransforms makes it; files don't name it.
struct ResizeShortAndCenterCrop {
  static const TransformRow kRow;
  ResizeShort resize;
  CenterCrop crop;

  Box needed_part(int width, int height) const;  // of a picture of this size

  void settings(Settings& settings);
  void check() const;
  void apply(Example& example, Random& random) const;
  bool operator==(const ResizeShortAndCenterCrop&) const = default;
};

}  // namespace octet
