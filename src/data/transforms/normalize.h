#pragma once
#include "data/transform.h"
#include "tensor/pixel_table.h"

namespace octet {

// (pixel / 255 - mean) / std, from 8-bit pixels to planes of floats. The defaults are PaddleSeg's, whose
// files leave them out.
struct Normalize {
  static const TransformRow kRow;
  std::array<float, 3> mean = {0.5f, 0.5f, 0.5f};  // of pixels in [0, 1], in the order of the channels
  std::array<float, 3> std = {0.5f, 0.5f, 0.5f};

  void settings(Settings& settings);
  void check() const;
  void apply(Example& example, Random& random) const;
  PixelValues values() const;  // of 8-bit pixels
  bool operator==(const Normalize&) const = default;
};

constexpr Normalize kImageNetColors{.mean = {0.485f, 0.456f, 0.406f}, .std = {0.229f, 0.224f, 0.225f}};

}  // namespace octet
