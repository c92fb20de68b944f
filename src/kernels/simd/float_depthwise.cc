#include "kernels/simd/float_parts.h"
#include "kernels/simd/float_store.h"

// Convolutions in which every channel is alone. A vector is a piece of the channels of one pixel. A tile of
// neighbouring outputs is computed at once, so that a pixel that was loaded serves several of them. The
// pixels under a tile are found by a table of pointers; those in the padding point to zeros. So there is
// nothing special about the border.
namespace octet::simd::OCTET_SIMD {
namespace {

constexpr std::int64_t kChunk = 32;  // vectors of channels that go through store_tile() at once

// The channels of vector v. The last vector ends with the last channel and so overlaps the one before it;
// what both compute is the same.
inline std::int64_t first_channel(const FloatDepthwise& d, std::int64_t v) {
  std::int64_t last = d.channels > kLanes ? d.channels - kLanes : 0;
  return v * kLanes < last ? v * kLanes : last;
}

inline const float* find_pixel(const FloatDepthwise& d, std::int64_t y, std::int64_t x) {
  bool inside = y >= 0 && y < d.in_h && x >= 0 && x < d.in_w;
  return inside ? d.x + (y * d.in_w + x) * d.channels : d.zeros;
}

// Where the sums of a tile go: to the output, when a clamp is all that is to be done, or to a buffer.
struct Sink {
  const float* residual;  // may be null; laid out as `out`
  Simple simple;
  float* out;  // channel `first` of the tile's first pixel
  std::int64_t first;
  std::int64_t row_step, pixel_step;  // from row to row, from pixel to pixel
};

template <int kSize, int kStride, int kRows, int kColumns>
void tile(const FloatDepthwise& d, const float* const* pixels, std::int64_t begin, std::int64_t end,
          const Sink& sink_in) {
  constexpr int kHeight = (kRows - 1) * kStride + kSize, kWidth = (kColumns - 1) * kStride + kSize;
  const Sink sink = sink_in;  // a copy that no store can change
  const std::int64_t last = d.channels - kLanes;
  const float* weights = d.weights + begin * kSize * kSize * kLanes;
  const float* bias = d.bias ? d.bias + begin * kLanes : nullptr;
  for (std::int64_t v = begin; v < end; ++v, weights += kSize * kSize * kLanes) {
    std::int64_t c = v * kLanes < last ? v * kLanes : last;
    Floats sums[kRows][kColumns];
#pragma GCC unroll 2
    for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 8
      for (int o = 0; o < kColumns; ++o) sums[r][o] = zeros();
#pragma GCC unroll 16
    for (int iy = 0; iy < kHeight; ++iy) {
#pragma GCC unroll 32
      for (int ix = 0; ix < kWidth; ++ix) {
        Floats x = load(pixels[iy * kWidth + ix] + c);
#pragma GCC unroll 2
        for (int r = 0; r < kRows; ++r) {
          int ky = iy - r * kStride;
          if (ky < 0 || ky >= kSize) continue;
#pragma GCC unroll 8
          for (int o = 0; o < kColumns; ++o) {
            int kx = ix - o * kStride;
            if (kx < 0 || kx >= kSize) continue;
            sums[r][o] = fma(load(weights + (ky * kSize + kx) * kLanes), x, sums[r][o]);
          }
        }
      }
    }
    auto each = [&](auto function) __attribute__((always_inline)) {
#pragma GCC unroll 2
      for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 8
        for (int o = 0; o < kColumns; ++o)
          function(sums[r][o], r * sink.row_step + o * sink.pixel_step + c - sink.first);
    };
    if (bias) {
      Floats b = load(bias);
      bias += kLanes;
      each([&](Floats& sum, std::int64_t) { sum = add(sum, b); });
    }
    if (sink.residual) each([&](Floats& sum, std::int64_t at) { sum = add(sum, load(sink.residual + at)); });
    sink.simple.apply([&](auto function) { each([&](Floats& sum, std::int64_t) { sum = function(sum); }); });
    each([&](Floats& sum, std::int64_t at) { store(sink.out + at, sum); });
  }
}

// kRows rows of outputs from `row` on. With one row at a time the vertical stride may be another one.
template <int kSize, int kStride, int kRows, int kColumns>
struct Rows {
  static constexpr int kHeight = (kRows - 1) * kStride + kSize, kWidth = (kColumns - 1) * kStride + kSize;

  // One tile, `columns` <= kColumns outputs wide.
  static void run_tile(const FloatDepthwise& d, const Simple& simple, std::int64_t row, std::int64_t column,
                       std::int64_t columns) {
    if constexpr (kColumns > 1)
      if (columns < kColumns)
        return Rows<kSize, kStride, kRows, kColumns - 1>::run_tile(d, simple, row, column, columns);
    const float* pixels[kHeight * kWidth];
    std::int64_t y = row * d.stride_y - d.before_y, x = column * kStride - d.before_x;
    if (y >= 0 && y + kHeight <= d.in_h && x >= 0 && x + kWidth <= d.in_w) {
      const float* line = d.x + (y * d.in_w + x) * d.channels;
      for (int iy = 0; iy < kHeight; ++iy, line += d.in_w * d.channels) {
        const float* pixel = line;
#pragma GCC unroll 32
        for (int ix = 0; ix < kWidth; ++ix, pixel += d.channels) pixels[iy * kWidth + ix] = pixel;
      }
    } else {
      for (int iy = 0; iy < kHeight; ++iy)
        for (int ix = 0; ix < kWidth; ++ix) pixels[iy * kWidth + ix] = find_pixel(d, y + iy, x + ix);
    }

    std::int64_t vectors = (d.channels + kLanes - 1) / kLanes;
    std::int64_t at = (row * d.out_w + column) * d.channels, row_step = d.out_w * d.channels;
    if (simple.possible) {
      const float* residual = d.target.residual ? d.target.residual + at : nullptr;
      return tile<kSize, kStride, kRows, kColumns>(
          d, pixels, 0, vectors, {residual, simple, d.target.floats + at, 0, row_step, d.channels});
    }
    alignas(64) float buffer[kRows * kColumns * kChunk * kLanes];
    for (std::int64_t begin = 0; begin < vectors; begin += kChunk) {
      std::int64_t end = begin + kChunk < vectors ? begin + kChunk : vectors;
      std::int64_t first = first_channel(d, begin), step = first_channel(d, end - 1) + kLanes - first;
      tile<kSize, kStride, kRows, kColumns>(d, pixels, begin, end,
                                            {nullptr, Simple(), buffer, first, kColumns * step, step});
      for (int r = 0; r < kRows; ++r)
        store_tile(buffer + r * kColumns * step, step, kColumns, step,
                   at_offset(d.target, at + r * row_step + first));
    }
  }

  static void run(const FloatDepthwise& d, const Simple& simple, std::int64_t row) {
    std::int64_t tiles = (d.out_w + kColumns - 1) / kColumns;
    for (std::int64_t t = 0, column = 0; t < tiles; ++t) {
      std::int64_t columns = d.out_w / tiles + (t < d.out_w % tiles ? 1 : 0);
      run_tile(d, simple, row, column, columns);
      column += columns;
    }
  }
};

// kMost rows at a time.
template <int kSize, int kStride, int kMost, int kColumns>
void run_rows(const FloatDepthwise& d) {
  Simple simple(d.target);
  std::int64_t row = d.first_row, end = d.first_row + d.rows;
  for (; row + kMost <= end; row += kMost) Rows<kSize, kStride, kMost, kColumns>::run(d, simple, row);
  if constexpr (kMost > 1)
    for (; row < end; ++row) Rows<kSize, kStride, 1, kColumns>::run(d, simple, row);
}

// Any kernel, pixel by pixel; kPart: fewer channels than a vector has.
template <bool kPart>
void run_general(const FloatDepthwise& d) {
  constexpr int kVectors = kPart ? 1 : 4;
  std::int64_t vectors = (d.channels + kLanes - 1) / kLanes, taps = d.kernel_h * d.kernel_w;
  for (std::int64_t i = 0; i < d.rows * d.out_w; ++i) {
    std::int64_t row = d.first_row + i / d.out_w, column = i % d.out_w;
    std::int64_t y0 = row * d.stride_y - d.before_y, x0 = column * d.stride_x - d.before_x;
    for (std::int64_t v = 0; v < vectors; v += kVectors) {
      Floats sums[kVectors];
      std::int64_t c[kVectors];
      const float* weights[kVectors];
      std::int64_t count = kVectors < vectors - v ? kVectors : vectors - v;
      for (int j = 0; j < kVectors; ++j) {
        std::int64_t vector = j < count ? v + j : v;  // those beyond the end repeat the first
        sums[j] = zeros();
        c[j] = first_channel(d, vector);
        weights[j] = d.weights + vector * taps * kLanes;
      }
      std::int64_t t = 0;
      for (std::int64_t ky = 0; ky < d.kernel_h; ++ky)
        for (std::int64_t kx = 0; kx < d.kernel_w; ++kx, ++t) {
          const float* pixel = find_pixel(d, y0 + ky * d.dilation_y, x0 + kx * d.dilation_x);
#pragma GCC unroll 4
          for (int j = 0; j < kVectors; ++j) {
            Floats x = kPart ? load_first(pixel, d.channels) : load(pixel + c[j]);
            sums[j] = fma(load(weights[j] + t * kLanes), x, sums[j]);
          }
        }
      for (int j = 0; j < count; ++j) {
        alignas(64) float buffer[kLanes];
        store(buffer, d.bias ? add(sums[j], load(d.bias + (v + j) * kLanes)) : sums[j]);
        store_tile(buffer, kLanes, 1, kPart ? d.channels : kLanes,
                   at_offset(d.target, (row * d.out_w + column) * d.channels + c[j]));
      }
    }
  }
}

}  // namespace

void float_depthwise(const FloatDepthwise& d) {
  if (d.channels < kLanes) return run_general<true>(d);
  bool square = d.kernel_h == d.kernel_w && d.dilation_y == 1 && d.dilation_x == 1;
  std::int64_t kind = square ? d.kernel_h * 10 + d.stride_x : 0;
  if (kind == 31 && d.stride_y == 1) return run_rows<3, 1, 2, 4>(d);
  if (kind == 31) return run_rows<3, 1, 1, 4>(d);
  if (kind == 32) return run_rows<3, 2, 1, 4>(d);
  if (kind == 51) return run_rows<5, 1, 1, 8>(d);
  if (kind == 52) return run_rows<5, 2, 1, 4>(d);
  run_general<false>(d);
}

}  // namespace octet::simd::OCTET_SIMD
