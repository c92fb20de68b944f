#pragma once
#include "kernels/simd/neon/vec.h"

#include "kernels/simd/neon/int8.h"

namespace octet::simd::OCTET_SIMD {
namespace {

using scalar::arg_max_row;
using scalar::copy_bytes;
using scalar::interleave_three;
using scalar::lookup;
using scalar::store_int8;

template <class T>
struct Block;

template <>
struct Block<std::uint32_t> {
  static constexpr std::int64_t kSide = 4;
  static void transpose(const std::uint32_t* from, std::int64_t from_row, std::uint32_t* to,
                        std::int64_t to_row) {
    uint32x4x2_t a = vtrnq_u32(vld1q_u32(from), vld1q_u32(from + from_row));
    uint32x4x2_t b = vtrnq_u32(vld1q_u32(from + 2 * from_row), vld1q_u32(from + 3 * from_row));
    vst1q_u32(to, vcombine_u32(vget_low_u32(a.val[0]), vget_low_u32(b.val[0])));
    vst1q_u32(to + to_row, vcombine_u32(vget_low_u32(a.val[1]), vget_low_u32(b.val[1])));
    vst1q_u32(to + 2 * to_row, vcombine_u32(vget_high_u32(a.val[0]), vget_high_u32(b.val[0])));
    vst1q_u32(to + 3 * to_row, vcombine_u32(vget_high_u32(a.val[1]), vget_high_u32(b.val[1])));
  }
};

template <>
struct Block<std::uint8_t> {
  static constexpr std::int64_t kSide = 16;
  static void transpose(const std::uint8_t* from, std::int64_t from_row, std::uint8_t* to,
                        std::int64_t to_row) {
    uint8x16_t a[16], b[16];
    for (int i = 0; i < 16; ++i) a[i] = vld1q_u8(from + i * from_row);
    auto interleave = [](const uint8x16_t* x, uint8x16_t* y) {
      for (int i = 0; i < 8; ++i) {
        y[2 * i] = vzip1q_u8(x[i], x[i + 8]);
        y[2 * i + 1] = vzip2q_u8(x[i], x[i + 8]);
      }
    };
    interleave(a, b);
    interleave(b, a);
    interleave(a, b);
    interleave(b, a);
    for (int i = 0; i < 16; ++i) vst1q_u8(to + i * to_row, a[i]);
  }
};

}  // namespace
}  // namespace octet::simd::OCTET_SIMD
