#include "kernels/simd/int8.h"

#include "kernels/simd/int8_vec.h"
#include "kernels/simd/store.h"
#include "kernels/simd/table.h"

namespace octet::simd::OCTET_SIMD {
namespace {

// Sums of kRows rows from `first` on with kVectors vectors of channels.
template <class Kind, int kRows, int kVectors>
void tile(const Int8Rows& rows, const Int8Panel& panel, std::int64_t first, std::int32_t* sums) {
  constexpr std::int64_t kUnit = kVectors * kLanes * 4;
  const Kind kind(panel.shift);
  Ints acc[kRows][kVectors];
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) acc[r][v] = load(panel.init + v * kLanes);
  const std::int8_t* w = panel.weights;
  const std::int8_t* const* pointers = rows.pointers + first;
  for (std::int64_t s = 0; s < rows.segments; ++s, pointers += rows.stride) {
    const std::int8_t* a[kRows];
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) a[r] = pointers[r] + rows.offset;
    std::int64_t u = 0;
    if constexpr (Kind::kTwoUnits)
      for (; u + 2 <= rows.units; u += 2, w += 2 * kUnit) {
#pragma GCC unroll 16
        for (int r = 0; r < kRows; ++r) {
          auto one = kind.left(a[r] + 4 * u), two = kind.left(a[r] + 4 * u + 4);
#pragma GCC unroll 16
          for (int v = 0; v < kVectors; ++v)
            acc[r][v] = kind.add_two(acc[r][v], one, w + v * kLanes * 4, two, w + kUnit + v * kLanes * 4);
        }
      }
    for (; u < rows.units; ++u, w += kUnit) {
#pragma GCC unroll 16
      for (int r = 0; r < kRows; ++r) {
        auto one = kind.left(a[r] + 4 * u);
#pragma GCC unroll 16
        for (int v = 0; v < kVectors; ++v) acc[r][v] = kind.add(acc[r][v], one, w + v * kLanes * 4);
      }
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) store(sums + (r * kVectors + v) * kLanes, acc[r][v]);
}

using Tile = void (*)(const Int8Rows&, const Int8Panel&, std::int64_t, std::int32_t*);

// The tile of `count` rows, 1 <= count <= kRows.
template <class Kind, int kVectors, int kRows = kTileRows[kVectors]>
Tile tile_of(std::int64_t count) {
  if constexpr (kRows > 1)
    if (count < kRows) return tile_of<Kind, kVectors, kRows - 1>(count);
  return tile<Kind, kRows, kVectors>;
}

// Where results wait for the epilogue: enough rows that the choice of the activation function costs nothing,
// few enough to stay in the L1 cache.
constexpr std::int64_t kBlockRows = 40;

// Calls use(function), where function maps a vector to what, rounded to integers, is quantized: as
// with_quantizer() does, but the rounding is left to the conversion.
template <class Use>
inline void with_rounding(const Quantizer& q, const Use& use) {
  if (q.away) return with_quantizer(q, use);
  Floats multiplier = all(q.multiplier), low = all(q.low), high = all(q.high);
  use([=](Floats x) { return max(min(high, mul(multiplier, x)), low); });
}

// Copies the first `columns` bytes of rows of integers.
template <int kVectors>
void store_rows(const std::int32_t* integers, std::int64_t rows, std::int64_t columns, std::int8_t* to,
                std::int64_t stride) {
  for (std::int64_t r = 0; r < rows; ++r, integers += kVectors * kLanes, to += stride) {
    if (columns == kVectors * kLanes) {
      store_bytes<kVectors>(to, integers);
    } else {
      std::int8_t bytes[kVectors * kLanes];
      store_bytes<kVectors>(bytes, integers);
      for (std::int64_t c = 0; c < columns; ++c) to[c] = bytes[c];
    }
  }
}

// Rescales the sums, applies the epilogue and stores `rows` rows of kVectors vectors; changes the sums.
template <int kVectors>
[[gnu::noinline]] void finish(std::int32_t* sums, std::int64_t rows, const Int8Panel& panel,
                              const Int8Target& target, std::int64_t first) {
  constexpr std::int64_t kWidth = kVectors * kLanes;
  std::int64_t start = first * target.stride;
  auto each = [&](auto activation, auto put) {
    for (std::int64_t c = 0; c < panel.columns; c += kLanes) {
      Floats multiplier = load(panel.multiplier + c), bias = load(panel.bias + c);
      std::int64_t count = panel.columns - c, at = start + c;
      std::int32_t* sum = sums + c;
      for (std::int64_t r = 0; r < rows; ++r, sum += kWidth, at += target.stride) {
        Floats v = fma(to_floats(load(sum)), multiplier, bias);
        if (target.residual)
          v = add(v, count >= kLanes ? load(target.residual + at) : load_first(target.residual + at, count));
        v = activation(v);
        if (target.floats) {
          if (count >= kLanes)
            store(target.floats + at, v);
          else
            store_first(target.floats + at, v, count);
        }
        put(v, sum);
      }
    }
  };
  with_activation(*target.epilogue, [&](auto activation) {
    if (!target.integers) return each(activation, [](Floats, std::int32_t*) {});
    with_rounding(target.epilogue->quantizer, [&](auto quantize) {
      each(activation, [&](Floats v, std::int32_t* sum) { store(sum, round_to_ints(quantize(v))); });
    });
  });
  if (target.integers)
    store_rows<kVectors>(sums, rows, panel.columns, target.integers + start, target.stride);
}

template <class Kind, int kVectors>
void multiply_panel(const Int8Rows& rows, const Int8Panel& panel, const Int8Target& target) {
  constexpr std::int64_t kRows = kTileRows[kVectors], kBlock = kBlockRows / kRows * kRows;
  constexpr std::int64_t kWidth = kVectors * kLanes;
  alignas(64) std::int32_t sums[kBlock * kWidth];
  for (std::int64_t first = 0; first < rows.rows; first += kBlock) {
    std::int64_t count = rows.rows - first < kBlock ? rows.rows - first : kBlock, r = 0;
    for (; r + kRows <= count; r += kRows)
      tile<Kind, kRows, kVectors>(rows, panel, first + r, sums + r * kWidth);
    if (r < count) tile_of<Kind, kVectors>(count - r)(rows, panel, first + r, sums + r * kWidth);
    finish<kVectors>(sums, count, panel, target, first);
  }
}

template <class Kind>
void multiply_with(const Int8Rows& rows, const Int8Panel& panel, const Int8Target& target) {
  switch (panel.vectors) {
    case 1:
      return multiply_panel<Kind, 1>(rows, panel, target);
    case 2:
      return multiply_panel<Kind, 2>(rows, panel, target);
    case 3:
      return multiply_panel<Kind, 3>(rows, panel, target);
    default:
      return multiply_panel<Kind, 4>(rows, panel, target);
  }
}

void multiply(const Int8Rows& rows, const Int8Panel& panel, const Int8Target& target) {
#if defined(__AVX512VNNI__) || defined(__AVXVNNI__)
  return multiply_with<Dot>(rows, panel, target);
#else
  if (panel.kind == Int8Kind::kWide) return multiply_with<Wide>(rows, panel, target);
#if defined(__AVX2__)
  if (panel.kind == Int8Kind::kPairs2)
    return panel.shift ? multiply_with<Pairs2<true> >(rows, panel, target)
                       : multiply_with<Pairs2<false> >(rows, panel, target);
  if (panel.shift) return multiply_with<Pairs<true> >(rows, panel, target);
#endif
  multiply_with<Pairs<false> >(rows, panel, target);
#endif
}

void widen(const std::int8_t* x, std::int16_t* y, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) y[i] = x[i];
}

}  // namespace

Int8Routines int8_routines() {
  return {.features = kFeatures, .multiply = multiply, .widen = widen};
}

}  // namespace octet::simd::OCTET_SIMD
