#pragma once
#include "kernels/simd/isa.h"
#include "kernels/simd/winograd.h"

// Where the tiles of Winograd's F(4x4, 3x3) lie.
namespace octet::simd::OCTET_SIMD {
namespace {

struct Place {
  std::int64_t n, y, x;  // image, and the tile's first output
};
inline Place place_of(const WinogradTiles& w, std::int64_t tile) {
  std::int64_t tiles_x = (w.out_w + 3) / 4, tiles_y = (w.out_h + 3) / 4;
  return {tile / (tiles_x * tiles_y), tile / tiles_x % tiles_y * 4, tile % tiles_x * 4};
}

// The 6x6 pixels that a tile is made of; `padding` stands for those outside of the image.
template <class T>
inline void find_pixels(const WinogradTiles& w, Place place, const T* x, const T* padding,
                        const T* (&pixels)[36]) {
  const T* image = x + place.n * w.in_h * w.in_w * w.channels;
  for (int j = 0; j < 36; ++j) {
    std::int64_t iy = place.y - w.before_y + j / 6, ix = place.x - w.before_x + j % 6;
    bool inside = iy >= 0 && iy < w.in_h && ix >= 0 && ix < w.in_w;
    pixels[j] = inside ? image + (iy * w.in_w + ix) * w.channels : padding;
  }
}

}  // namespace
}  // namespace octet::simd::OCTET_SIMD
