#include "kernels/simd/float_parts.h"
#include "kernels/simd/float_store.h"

namespace octet::simd::OCTET_SIMD {
namespace {

// Panels are kPanel vectors wide, the last one up to kLastPanel. A tile of sums is as many rows as fill the
// registers: enough sums to hide the latency of a multiply-add, and fewer loads than multiply-adds.
#if defined(__AVX512F__)
constexpr int kPanel = 2, kLastPanel = 3;
constexpr int kTileRows[] = {0, 8, 8, 8};
#elif defined(__AVX2__)
constexpr int kPanel = 2, kLastPanel = 3;
constexpr int kTileRows[] = {0, 8, 6, 4};
#else
constexpr int kPanel = 4, kLastPanel = 4;
constexpr int kTileRows[] = {0, 8, 8, 8, 6};
#endif
constexpr int kGroup = 4;  // tiles that go through store_tile() at once

// How a tile stores its sums.
struct Sink {
  const float* bias;
  float alpha;
  const float* residual;  // may be null; laid out as `out`
  bool clamps;
  float low, high;
  float* out;
  std::int64_t step;     // from row to row
  std::int64_t columns;  // to store; may be more than there are in the tile
};

template <int kRows, int kVectors>
[[gnu::always_inline]] inline void store_sums(Floats (&sums)[kRows][kVectors], const Sink& sink) {
  if (sink.alpha != 1.0f) {
    Floats alpha = all(sink.alpha);
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) sums[r][v] = mul(sums[r][v], alpha);
  }
  if (sink.bias) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      Floats bias = load(sink.bias + v * kLanes);
#pragma GCC unroll 16
      for (int r = 0; r < kRows; ++r) sums[r][v] = add(sums[r][v], bias);
    }
  }
  if (sink.columns >= kVectors * kLanes) {
    if (sink.residual) {
#pragma GCC unroll 16
      for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v)
          sums[r][v] = add(sums[r][v], load(sink.residual + r * sink.step + v * kLanes));
    }
    if (sink.clamps) {
      Floats low = all(sink.low), high = all(sink.high);
#pragma GCC unroll 16
      for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) sums[r][v] = clamp(sums[r][v], low, high);
    }
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) store(sink.out + r * sink.step + v * kLanes, sums[r][v]);
    return;
  }
  Floats low = all(sink.low), high = all(sink.high);
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) {
    std::int64_t count = sink.columns - v * kLanes;
    count = count > kLanes ? kLanes : count < 0 ? 0 : count;
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      std::int64_t at = r * sink.step + v * kLanes;
      Floats value = sums[r][v];
      if (sink.residual) value = add(value, load_first(sink.residual + at, count));
      if (sink.clamps) value = clamp(value, low, high);
      store_first(sink.out + at, value, count);
    }
  }
}

// The next kSteps terms of every sum. The pointers advance, rather than an index: the compiler then needs no
// registers for sums of both.
template <int kSteps, int kRows, int kVectors>
[[gnu::always_inline]] inline void add_terms(const float* (&x)[kRows], const float*& weights,
                                             Floats (&sums)[kRows][kVectors]) {
#pragma GCC unroll 4
  for (int k = 0; k < kSteps; ++k) {
    Floats w[kVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) w[v] = load(weights + (k * kVectors + v) * kLanes);
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      Floats a = all_of(x[r] + k);
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) sums[r][v] = fma(w[v], a, sums[r][v]);
    }
  }
  weights += kSteps * kVectors * kLanes;
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) x[r] += kSteps;
}

template <int kRows, int kVectors>
void tile(const FloatProduct& p, std::int64_t first, const float* weights, const Sink& sink) {
  Floats sums[kRows][kVectors];
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) sums[r][v] = zeros();
  const float* const* pieces = p.pieces + first;
  for (std::int64_t t = 0; t < p.taps; ++t, pieces += p.piece_step) {
    const float* x[kRows];
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) x[r] = pieces[r];
    std::int64_t left = p.depth;
    for (; left >= 4; left -= 4) add_terms<4>(x, weights, sums);
    for (; left > 0; --left) add_terms<1>(x, weights, sums);
  }
  store_sums(sums, sink);
}

using Tile = void (*)(const FloatProduct&, std::int64_t, const float*, const Sink&);

// The tile with `rows` rows.
template <int kVectors, int kRows = kTileRows[kVectors]>
Tile find_tile(std::int64_t rows) {
  if constexpr (kRows > 1)
    if (rows < kRows) return find_tile<kVectors, kRows - 1>(rows);
  return tile<kRows, kVectors>;
}

// One panel, all rows: in tiles of about equal height, since one of a single row would take as long as one of
// several.
template <int kVectors>
void multiply_panel(const FloatProduct& p, std::int64_t column, const Clamp& clamp) {
  constexpr std::int64_t kWidth = kVectors * kLanes, kHeight = kTileRows[kVectors];
  std::int64_t tiles = (p.rows + kHeight - 1) / kHeight;
  std::int64_t low_height = p.rows / tiles, higher = p.rows % tiles;
  Tile low_tile = find_tile<kVectors>(low_height), high_tile = find_tile<kVectors>(low_height + 1);
  const float* weights = p.weights + column * p.taps * p.depth;
  alignas(64) float buffer[kGroup * kHeight * kWidth];
  Sink sink{p.bias ? p.bias + column : nullptr,
            p.alpha,
            nullptr,
            false,
            clamp.low,
            clamp.high,
            buffer,
            kWidth,
            kWidth};
  std::int64_t row = 0, begin = 0;
  for (std::int64_t t = 0; t < tiles; ++t) {
    if (clamp.possible) {
      std::int64_t at = row * p.target.stride + column;
      sink.out = p.target.floats + at;
      sink.residual = p.target.residual ? p.target.residual + at : nullptr;
      sink.clamps = clamp.clamps;
      sink.step = p.target.stride;
      sink.columns = p.columns - column;
    } else {
      sink.out = buffer + (row - begin) * kWidth;
    }
    (t < higher ? high_tile : low_tile)(p, row, weights, sink);
    row += low_height + (t < higher ? 1 : 0);
    if (!clamp.possible && (t % kGroup == kGroup - 1 || t == tiles - 1)) {
      std::int64_t count = p.columns - column;
      store_tile(buffer, kWidth, row - begin, count < kWidth ? count : kWidth,
                 at_offset(p.target, begin * p.target.stride + column));
      begin = row;
    }
  }
}

}  // namespace

std::int64_t float_panel_width(std::int64_t columns) {
  std::int64_t vectors = (columns + kLanes - 1) / kLanes;
  return (vectors <= kLastPanel ? vectors : kPanel) * kLanes;
}

void float_multiply(const FloatProduct& product) {
  if (product.rows == 0) return;
  Clamp clamp(product.target);
  for (std::int64_t column = 0; column < product.columns;) {
    std::int64_t width = float_panel_width(product.columns - column);
    switch (width / kLanes) {
      case 1:
        multiply_panel<1>(product, column, clamp);
        break;
      case 2:
        multiply_panel<2>(product, column, clamp);
        break;
      case 3:
        multiply_panel<3>(product, column, clamp);
        break;
#if !defined(__AVX2__)
      case 4:
        multiply_panel<4>(product, column, clamp);
        break;
#endif
    }
    column += width;
  }
}

}  // namespace octet::simd::OCTET_SIMD
