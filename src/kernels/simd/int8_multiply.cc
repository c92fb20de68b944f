#include "kernels/simd/int8_finish.h"
#include "kernels/simd/int8_parts.h"
#include "kernels/simd/int8_store.h"

namespace octet::simd::OCTET_SIMD {
namespace {

// What becomes of the sums of a tile, from row `row` on.

// They wait in memory for the rest of the epilogue.
template <int kVectors>
struct StoreSums {
  template <int kRows>
  [[gnu::always_inline]] void operator()(Ints (&acc)[kRows][kVectors], std::int64_t row) const {
    std::int32_t* to = sums + (row - first) * kVectors * kLanes;
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 16
      for (int v = 0; v < kVectors; ++v, to += kLanes) store(to, acc[r][v]);
  }
  std::int32_t* sums;
  std::int64_t first;
};

// The sums of `count` rows, a multiple of kRows, from `first` on with kVectors vectors of channels.
template <class Kind, int kRows, int kVectors, class Put>
void tiles(const Int8Rows& given_rows, const Int8Panel& given_panel, std::int64_t first, std::int64_t count,
           const Put& given_put) {
  const Put put = given_put;  // copies, which no store of a result can change
  const Int8Rows rows = given_rows;
  const Int8Panel panel = given_panel;
  constexpr std::int64_t kVector = Kind::kVectorBytes, kUnit = kVectors * kVector;
  const Kind kind(panel.shift);
  for (std::int64_t end = first + count; first < end; first += kRows) {
    Ints acc[kRows][kVectors];
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 16
      for (int v = 0; v < kVectors; ++v) acc[r][v] = load(panel.init + v * kLanes);
    const std::int8_t* w = panel.weights;
    const std::int32_t* again = panel.again;
    const std::int8_t* const* pointers = rows.pointers + first;
    for (std::int64_t s = 0; s < rows.segments; ++s, pointers += rows.stride) {
      const std::int8_t* a[kRows];
#pragma GCC unroll 16
      for (int r = 0; r < kRows; ++r) a[r] = pointers[r] + rows.offset;
      auto add_unit = [&](std::int64_t u) {
#pragma GCC unroll 16
        for (int r = 0; r < kRows; ++r) {
          auto one = kind.left(a[r] + 4 * u);
#pragma GCC unroll 16
          for (int v = 0; v < kVectors; ++v) acc[r][v] = kind.add(acc[r][v], one, w + v * kVector);
        }
        w += kUnit;
      };
      std::int64_t u = 0;
      if constexpr (Kind::kTwoUnits)
        for (; u + 2 <= rows.units; u += 2, w += 2 * kUnit) {
#pragma GCC unroll 16
          for (int r = 0; r < kRows; ++r) {
            auto one = kind.left(a[r] + 4 * u), two = kind.left(a[r] + 4 * u + 4);
#pragma GCC unroll 16
            for (int v = 0; v < kVectors; ++v)
              acc[r][v] = kind.add_two(acc[r][v], one, w + v * kVector, two, w + kUnit + v * kVector);
          }
        }
      for (; u < rows.units; ++u) add_unit(u);
      for (std::int32_t count = *again++; count > 0; --count) add_unit(*again++);
    }
    put(acc, first);
  }
}

// The same for 1 <= count <= kRows.
template <class Kind, int kRows, int kVectors, class Put>
void last_tile(const Int8Rows& rows, const Int8Panel& panel, std::int64_t first, std::int64_t count,
               const Put& put) {
  if constexpr (kRows > 1)
    if (count < kRows) return last_tile<Kind, kRows - 1, kVectors>(rows, panel, first, count, put);
  tiles<Kind, kRows, kVectors>(rows, panel, first, kRows, put);
}

// The same for the rows from `first` on, of any number, with every epilogue.
template <class Kind, int kVectors>
void multiply_and_finish(const Int8Rows& rows, const Int8Panel& panel, const Int8Target& target,
                         std::int64_t first) {
  constexpr std::int64_t kRows = Kind::rows(kVectors), kBlock = kBlockRows / kRows * kRows;
  alignas(64) std::int32_t sums[kBlock * kVectors * kLanes];
  for (; first < rows.rows; first += kBlock) {
    std::int64_t count = rows.rows - first < kBlock ? rows.rows - first : kBlock;
    std::int64_t whole = count / kRows * kRows;
    const StoreSums<kVectors> put{sums, first};
    tiles<Kind, kRows, kVectors>(rows, panel, first, whole, put);
    if (whole < count) last_tile<Kind, kRows, kVectors>(rows, panel, first + whole, count - whole, put);
    finish<kVectors>(sums, count, panel.multiplier, panel.bias, panel.columns, target, first);
  }
}

template <class Kind, int kVectors>
void multiply_panel(const Int8Rows& rows, const Int8Panel& panel, const Int8Target& target) {
  constexpr std::int64_t kRows = Kind::rows(kVectors);
  std::int64_t done = 0;
  if (const ByteClamp clamp(target); clamp.possible && !clamp.by_step && !is_narrow(panel.columns, target)) {
    done = rows.rows / kRows * kRows;
    with_clamp<false>(clamp, *target.epilogue, [&](auto clamped) {
      auto run = [&]<bool kResidual>() {
        tiles<Kind, kRows, kVectors>(
            rows, panel, 0, done,
            StoreBytes<kVectors, kResidual, decltype(clamped)>(clamped, clamp.low, panel, target));
      };
      target.residual_integers ? run.template operator()<true>() : run.template operator()<false>();
    });
  }
  multiply_and_finish<Kind, kVectors>(rows, panel, target, done);
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

}  // namespace

void int8_multiply(const Int8Rows& rows, const Int8Panel& panel, const Int8Target& target) {
  with_kind(panel, [&]<class Kind>() { multiply_with<Kind>(rows, panel, target); });
}

}  // namespace octet::simd::OCTET_SIMD
