#include "kernels/simd/float_parts.h"
#include "kernels/simd/float_store.h"
#include "kernels/simd/winograd_tile.h"

// Winograd's F(4x4, 3x3): 36 multiplications where a convolution has 144. The points are 0, +-sqrt(1/2),
// +-sqrt(2) and infinity; they round less than the usual 0, +-1, +-2 and infinity.
namespace octet::simd::OCTET_SIMD {
namespace {

constexpr float kA = 0x1.6a09e6p-1f, kB = 0x1.6a09e6p+0f;  // the points; kA*kB = 1

// Six numbers of the image to six of the transformed one.
[[gnu::always_inline]] inline void transform_input(const Floats (&d)[6], Floats (&t)[6]) {
  Floats five_halves = all(-2.5f);
  t[0] = fma(d[2], five_halves, add(d[0], d[4]));
  t[5] = fma(d[3], five_halves, add(d[1], d[5]));
  Floats even = fma(d[2], all(-2.0f), d[4]), odd = fma(d[1], all(-kB), mul(d[3], all(kA)));
  t[1] = add(even, odd);
  t[2] = sub(even, odd);
  even = fma(d[2], all(-0.5f), d[4]);
  odd = fma(d[1], all(-kA), mul(d[3], all(kB)));
  t[3] = add(even, odd);
  t[4] = sub(even, odd);
}

// Six numbers of the product to four of the output.
[[gnu::always_inline]] inline void transform_output(const Floats (&m)[6], Floats (&y)[4]) {
  Floats p = add(m[1], m[2]), q = sub(m[1], m[2]), r = add(m[3], m[4]), s = sub(m[3], m[4]);
  y[0] = add(add(m[0], p), r);
  y[1] = fma(q, all(kA), mul(s, all(kB)));
  y[2] = fma(p, all(0.5f), add(r, r));
  y[3] = fma(q, all(kA / 2), fma(s, all(2 * kB), m[5]));
}

template <class Load>
[[gnu::always_inline]] inline void transform_tile(const FloatWinograd& w, const float* const (&pixels)[36],
                                                  float* out, const Load& load_pixel) {
  alignas(64) float half[36 * kLanes];
#pragma GCC unroll 6
  for (int x = 0; x < 6; ++x) {
    Floats d[6], t[6];
#pragma GCC unroll 6
    for (int y = 0; y < 6; ++y) d[y] = load_pixel(pixels[y * 6 + x]);
    transform_input(d, t);
#pragma GCC unroll 6
    for (int y = 0; y < 6; ++y) store(half + (y * 6 + x) * kLanes, t[y]);
  }
  for (int y = 0; y < 6; ++y) {
    Floats d[6], t[6];
#pragma GCC unroll 6
    for (int x = 0; x < 6; ++x) d[x] = load(half + (y * 6 + x) * kLanes);
    transform_input(d, t);
#pragma GCC unroll 6
    for (int x = 0; x < 6; ++x) store(out + (y * 6 + x) * w.input_step, t[x]);
  }
}

}  // namespace

void float_winograd_input(const FloatWinograd& w) {
  const WinogradTiles& tiles = w.tiles;
  std::int64_t row = (tiles.channels + kLanes - 1) / kLanes * kLanes;
  for (std::int64_t i = 0; i < tiles.count; ++i) {
    const float* pixels[36];
    find_pixels(tiles, place_of(tiles, tiles.first + i), w.x, w.zeros, pixels);
    std::int64_t c = 0;
    for (; c + kLanes <= tiles.channels; c += kLanes)
      transform_tile(w, pixels, w.input + i * row + c, [c](const float* pixel) { return load(pixel + c); });
    if (c < tiles.channels) {
      std::int64_t count = tiles.channels - c;
      transform_tile(w, pixels, w.input + i * row + c,
                     [=](const float* pixel) { return load_first(pixel + c, count); });
    }
  }
}

void float_winograd_output(const FloatWinograd& w) {
  constexpr std::int64_t kChunk = 16 * kLanes;  // channels that go through store_tile() at once
  const WinogradTiles& tiles = w.tiles;
  std::int64_t row = (tiles.out_channels + kLanes - 1) / kLanes * kLanes;
  alignas(64) float buffer[16 * kChunk];
  for (std::int64_t i = 0; i < tiles.count; ++i) {
    Place place = place_of(tiles, tiles.first + i);
    std::int64_t height = tiles.out_h - place.y < 4 ? tiles.out_h - place.y : 4;
    std::int64_t width = tiles.out_w - place.x < 4 ? tiles.out_w - place.x : 4;
    for (std::int64_t begin = 0; begin < tiles.out_channels; begin += kChunk) {
      std::int64_t end = begin + kChunk < tiles.out_channels ? begin + kChunk : tiles.out_channels;
      for (std::int64_t c = begin; c < end; c += kLanes) {
        const float* from = w.output + i * row + c;
        alignas(64) float half[24 * kLanes];
#pragma GCC unroll 6
        for (int x = 0; x < 6; ++x) {
          Floats m[6], y[4];
#pragma GCC unroll 6
          for (int k = 0; k < 6; ++k) m[k] = load(from + (k * 6 + x) * w.output_step);
          transform_output(m, y);
#pragma GCC unroll 4
          for (int k = 0; k < 4; ++k) store(half + (k * 6 + x) * kLanes, y[k]);
        }
        for (int r = 0; r < 4; ++r) {
          Floats m[6], y[4];
#pragma GCC unroll 6
          for (int k = 0; k < 6; ++k) m[k] = load(half + (r * 6 + k) * kLanes);
          transform_output(m, y);
          if (w.bias) {
            Floats bias = load(w.bias + c);
#pragma GCC unroll 4
            for (int k = 0; k < 4; ++k) y[k] = add(y[k], bias);
          }
#pragma GCC unroll 4
          for (int k = 0; k < 4; ++k) store(buffer + (r * 4 + k) * kChunk + c - begin, y[k]);
        }
      }
      for (std::int64_t r = 0; r < height; ++r) {
        std::int64_t pixel = (place.n * tiles.out_h + place.y + r) * tiles.out_w + place.x;
        store_tile(buffer + r * 4 * kChunk, kChunk, width, end - begin,
                   at_offset(w.target, pixel * tiles.out_channels + begin));
      }
    }
  }
}

}  // namespace octet::simd::OCTET_SIMD
