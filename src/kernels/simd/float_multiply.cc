#include "kernels/simd/float_parts.h"
#include "kernels/simd/float_store.h"

namespace octet::simd::OCTET_SIMD {
namespace {

// A tile of sums is as many rows as fill the registers: enough sums to hide the latency of a multiply-add,
// and fewer loads than multiply-adds.
constexpr Simple kSums;
constexpr int kGroup = 4;  // tiles that go through store_tile() at once

// How a tile stores its sums.
struct Sink {
  const float* bias;
  float alpha;
  const float* residual;  // may be null; laid out as `out`
  const Simple* simple;
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
  auto activate = [&] {
    sink.simple->apply([&](auto function) {
#pragma GCC unroll 16
      for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) sums[r][v] = function(sums[r][v]);
    });
  };
  if (sink.columns >= kVectors * kLanes) {
    if (sink.residual) {
#pragma GCC unroll 16
      for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v)
          sums[r][v] = add(sums[r][v], load(sink.residual + r * sink.step + v * kLanes));
    }
    activate();
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) store(sink.out + r * sink.step + v * kLanes, sums[r][v]);
    return;
  }
  std::int64_t counts[kVectors];
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) {
    std::int64_t left = sink.columns - v * kLanes;
    counts[v] = left > kLanes ? kLanes : left < 0 ? 0 : left;
    if (!sink.residual) continue;
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r)
      sums[r][v] = add(sums[r][v], load_first(sink.residual + r * sink.step + v * kLanes, counts[v]));
  }
  activate();
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v)
      store_first(sink.out + r * sink.step + v * kLanes, sums[r][v], counts[v]);
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
      for (int v = 0; v < kVectors; ++v) accumulate(sums[r][v], w[v], a);
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
template <int kVectors, int kRows = kFloatTileRows[kVectors]>
Tile find_tile(std::int64_t rows) {
  if constexpr (kRows > 1)
    if (rows < kRows) return find_tile<kVectors, kRows - 1>(rows);
  return tile<kRows, kVectors>;
}

// Stores what tiles put into a buffer of rows of `width` sums, from row `row` and column `column` on.
inline void store_buffer(const FloatProduct& p, const float* buffer, std::int64_t width, std::int64_t row,
                         std::int64_t rows, std::int64_t column) {
  std::int64_t count = p.columns - column;
  store_tile(buffer, width, rows, count < width ? count : width,
             at_offset(p.target, row * p.target.stride + column));
}

// The sink of sums from row `row` and column `column` on: the output, if that can be, or the buffer.
inline Sink find_sink(const FloatProduct& p, const Simple& simple, std::int64_t row, std::int64_t column,
                      float* buffer, std::int64_t width) {
  const float* bias = p.bias ? p.bias + column : nullptr;
  if (!simple.possible) return {bias, p.alpha, nullptr, &kSums, buffer, width, width};
  std::int64_t at = row * p.target.stride + column;
  const float* residual = p.target.residual ? p.target.residual + at : nullptr;
  return {bias, p.alpha, residual, &simple, p.target.floats + at, p.target.stride, p.columns - column};
}

// One panel, all rows.
template <int kVectors>
void multiply_panel(const FloatProduct& p, std::int64_t column, const Simple& simple) {
  constexpr std::int64_t kWidth = kVectors * kLanes, kHeight = kFloatTileRows[kVectors];
  const float* weights = p.weights + column * p.taps * p.depth;
  alignas(64) float buffer[kGroup * kHeight * kWidth];
  std::int64_t begin = 0;
  for (std::int64_t row = 0; row < p.rows;) {
    std::int64_t height = p.rows - row < kHeight ? p.rows - row : kHeight;
    Tile function = height == kHeight ? tile<kHeight, kVectors> : find_tile<kVectors>(height);
    float* waiting = simple.possible ? buffer : buffer + (row - begin) * kWidth;
    function(p, row, weights, find_sink(p, simple, row, column, waiting, kWidth));
    row += height;
    if (!simple.possible && (row - begin == kGroup * kHeight || row == p.rows)) {
      store_buffer(p, buffer, kWidth, begin, row - begin, column);
      begin = row;
    }
  }
}

void multiply_panel(const FloatProduct& p, std::int64_t column, std::int64_t width, const Simple& simple) {
  switch (width / kLanes) {
    case 1:
      return multiply_panel<1>(p, column, simple);
    case 2:
      return multiply_panel<2>(p, column, simple);
    case 3:
      return multiply_panel<3>(p, column, simple);
    default:
      return multiply_panel<kLastPanel>(p, column, simple);
  }
}

// One, two or three rows are too few sums to keep the CPU busy, so they are computed for several panels at
// once.
constexpr int kFew = 3;
constexpr int panels_for(int rows) {
  return (8 + kPanel * rows - 1) / (kPanel * rows);
}

template <int kRows>
void multiply_few(const FloatProduct& p, std::int64_t column, const Simple& simple) {
  constexpr int kPanels = panels_for(kRows);
  constexpr std::int64_t kWidth = kPanel * kLanes;
  Floats sums[kPanels][kRows][kPanel];
  const float* weights[kPanels];
#pragma GCC unroll 4
  for (int i = 0; i < kPanels; ++i) {
    weights[i] = p.weights + (column + i * kWidth) * p.taps * p.depth;
#pragma GCC unroll 3
    for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 4
      for (int v = 0; v < kPanel; ++v) sums[i][r][v] = zeros();
  }
  for (std::int64_t t = 0; t < p.taps; ++t) {
    const float* x[kRows];
#pragma GCC unroll 3
    for (int r = 0; r < kRows; ++r) x[r] = p.pieces[t * p.piece_step + r];
    for (std::int64_t k = 0; k < p.depth; ++k) {
      Floats a[kRows];
#pragma GCC unroll 3
      for (int r = 0; r < kRows; ++r) a[r] = all_of(x[r] + k);
#pragma GCC unroll 4
      for (int i = 0; i < kPanels; ++i) {
#pragma GCC unroll 4
        for (int v = 0; v < kPanel; ++v) {
          Floats w = load(weights[i] + v * kLanes);
#pragma GCC unroll 3
          for (int r = 0; r < kRows; ++r) sums[i][r][v] = fma(w, a[r], sums[i][r][v]);
        }
        weights[i] += kWidth;
      }
    }
  }
  alignas(64) float buffer[kRows * kWidth];
#pragma GCC unroll 4
  for (int i = 0; i < kPanels; ++i) {
    store_sums(sums[i], find_sink(p, simple, 0, column + i * kWidth, buffer, kWidth));
    if (!simple.possible) store_buffer(p, buffer, kWidth, 0, kRows, column + i * kWidth);
  }
}

}  // namespace

std::int64_t float_panel_width(std::int64_t columns) {
  std::int64_t vectors = (columns + kLanes - 1) / kLanes;
  return (vectors <= kLastPanel ? vectors : kPanel) * kLanes;
}

void float_multiply(const FloatProduct& product) {
  // Full tiles first, and what is left over when it is but a few rows.
  FloatProduct full = product, few = product;
  few.rows = product.rows % kFloatTileRows[kPanel];
  if (few.rows > kFew) few.rows = 0;
  full.rows -= few.rows;
  few.pieces += full.rows;
  std::int64_t skipped = full.rows * product.target.stride;
  Target target = at_offset(product.target, skipped);
  few.target = {target.epilogue, target.residual, target.floats, target.integers, target.stride};

  Simple simple(product.target);
  std::int64_t panels = few.rows > 0 ? panels_for(static_cast<int>(few.rows)) : 1;
  for (std::int64_t column = 0; column < product.columns;) {
    std::int64_t width = float_panel_width(product.columns - column), group = width * panels;
    // Only panels of the usual width and without padding come in groups.
    std::int64_t left = product.columns - column;
    bool grouped = panels > 1 && left >= group && width == kPanel * kLanes &&
                   float_panel_width(left - group + width) == width;
    if (!grouped) group = width;
    if (full.rows > 0)
      for (std::int64_t first = 0; first < group; first += width)
        multiply_panel(full, column + first, width, simple);
    if (few.rows > 0 && !grouped)
      multiply_panel(few, column, width, simple);
    else if (few.rows == 1)
      multiply_few<1>(few, column, simple);
    else if (few.rows == 2)
      multiply_few<2>(few, column, simple);
    else if (few.rows == 3)
      multiply_few<3>(few, column, simple);
    column += group;
  }
}

}  // namespace octet::simd::OCTET_SIMD
