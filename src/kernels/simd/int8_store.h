#pragma once
#include "kernels/simd/int8_finish.h"

namespace octet::simd::OCTET_SIMD {
namespace {

// What becomes of the sums of a tile, rows from `row` on: bytes, before they leave the registers.
template <int kVectors, bool kResidual, class Clamped>
class StoreBytes {
 public:
  StoreBytes(const Clamped& clamped, std::int8_t low, const Int8Panel& panel, const Int8Target& target)
      : clamped_(clamped),
        low_(low),
        multiplier_(panel.multiplier),
        bias_(panel.bias),
        columns_(panel.columns),
        step_(all(target.residual_step)),
        residual_(target.residual_integers),
        to_(target.integers),
        stride_(target.stride) {}

  template <int kRows>
  [[gnu::always_inline]] void operator()(Ints (&acc)[kRows][kVectors], std::int64_t row) const {
    constexpr std::int64_t kWidth = kVectors * kLanes;
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) {
      const Floats multiplier = load(multiplier_ + v * kLanes), bias = load(bias_ + v * kLanes);
      const std::int64_t count = columns_ - v * kLanes;
#pragma GCC unroll 16
      for (int r = 0; r < kRows; ++r) {
        Floats x = fma(to_floats(acc[r][v]), multiplier, bias);
        if constexpr (kResidual) {
          const std::int8_t* from = residual_ + (row + r) * stride_ + v * kLanes;
          x = add(x, mul(to_floats(count >= kLanes ? load_int8(from) : load_int8_first(from, count)), step_));
        }
        acc[r][v] = clamped_(x);
      }
    }
    std::int8_t* to = to_ + row * stride_;
    if (columns_ == kWidth) {
#pragma GCC unroll 16
      for (int r = 0; r < kRows; ++r, to += stride_) store_bytes<kVectors>(to, acc[r], low_);
      return;
    }
    for (int r = 0; r < kRows; ++r, to += stride_) {
      std::int8_t bytes[kWidth < 8 ? 8 : kWidth];  // copied 8 at a time
      store_bytes<kVectors>(bytes, acc[r], low_);
      copy_bytes(to, bytes, columns_);
    }
  }

 private:
  Clamped clamped_;
  std::int8_t low_;
  const float *multiplier_, *bias_;
  std::int64_t columns_;
  Floats step_;
  const std::int8_t* residual_;
  std::int8_t* to_;
  std::int64_t stride_;
};

}  // namespace
}  // namespace octet::simd::OCTET_SIMD
