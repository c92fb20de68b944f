#pragma once
#include <cstdint>

namespace octet::simd {

// Some 4x4 tiles of the outputs of a 3x3 convolution, numbered through all images, row by row. Channels come
// last.
struct WinogradTiles {
  std::int64_t in_h, in_w, channels;
  std::int64_t before_y, before_x;  // padding
  std::int64_t out_h, out_w, out_channels;
  std::int64_t first, count;
};

}  // namespace octet::simd
