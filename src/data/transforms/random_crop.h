#pragma once
#include "data/transform.h"

namespace octet {

// A part of random area and shape, scaled to a square. As in torchvision and paddle.vision.
struct RandomResizedCrop {
  static const TransformRow kRow;
  int size = 224;
  std::array<double, 2> scale = {0.08, 1.0};             // of the picture's area
  std::array<double, 2> ratio = {3.0 / 4.0, 4.0 / 3.0};  // width : height
  Interpolation interpolation = Interpolation::kBilinear;

  void settings(Settings& settings);
  void check() const;
  void apply(Example& example, Random& random) const;
  bool operator==(const RandomResizedCrop&) const = default;
};

// A square at a random place, which may reach `padding` black pixels over the edge. Each side of the picture
// must be as long as the square, at least.
struct RandomCrop {
  static const TransformRow kRow;
  int size = 224;
  int padding = 0;

  void settings(Settings& settings);
  void check() const;
  void apply(Example& example, Random& random) const;
  bool operator==(const RandomCrop&) const = default;
};

}  // namespace octet
