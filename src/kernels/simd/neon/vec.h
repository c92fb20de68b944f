#pragma once
#include <arm_neon.h>

#include <cstdint>

namespace octet::simd::OCTET_SIMD {
namespace {

using Floats = float32x4_t;
using Ints = int32x4_t;
using Mask = uint32x4_t;
constexpr int kLanes = 4;

inline Floats load(const float* p) {
  return vld1q_f32(p);
}
inline void store(float* p, Floats v) {
  vst1q_f32(p, v);
}
// The first `count` lanes, 0 <= count <= kLanes; the others are 0, and their memory is not touched.
inline Floats load_first(const float* p, std::int64_t count) {
  float lanes[kLanes] = {};
  for (std::int64_t i = 0; i < count; ++i) lanes[i] = p[i];
  return load(lanes);
}
inline void store_first(float* p, Floats v, std::int64_t count) {
  float lanes[kLanes];
  store(lanes, v);
  for (std::int64_t i = 0; i < count; ++i) p[i] = lanes[i];
}
inline Floats all(float x) {
  return vdupq_n_f32(x);
}
inline Floats all_of(const float* p) {
  return vld1q_dup_f32(p);
}
inline Floats zeros() {
  return vdupq_n_f32(0);
}

inline Floats add(Floats a, Floats b) {
  return vaddq_f32(a, b);
}
inline Floats sub(Floats a, Floats b) {
  return vsubq_f32(a, b);
}
inline Floats mul(Floats a, Floats b) {
  return vmulq_f32(a, b);
}
inline Floats div(Floats a, Floats b) {
  return vdivq_f32(a, b);
}
inline Floats fma(Floats a, Floats b, Floats c) {
  return vfmaq_f32(c, a, b);
}
inline Mask greater(Floats a, Floats b) {
  return vcgtq_f32(a, b);
}
inline Mask less(Floats a, Floats b) {
  return vcltq_f32(a, b);
}
inline Mask equal(Floats a, Floats b) {
  return vceqq_f32(a, b);
}
inline Floats choose(Mask mask, Floats yes, Floats no) {
  return vbslq_f32(mask, yes, no);
}
// a > b ? a : b, and a < b ? a : b: b where one is NaN.
inline Floats max(Floats a, Floats b) {
  return choose(greater(a, b), a, b);
}
inline Floats min(Floats a, Floats b) {
  return choose(less(a, b), a, b);
}
inline Floats round_even(Floats a) {
  return vrndnq_f32(a);
}
inline Floats truncate(Floats a) {
  return vrndq_f32(a);
}
inline Floats copy_sign(Floats magnitude, Floats sign) {
  return vbslq_f32(vdupq_n_u32(0x80000000u), sign, magnitude);
}

inline Ints load(const std::int32_t* p) {
  return vld1q_s32(p);
}
inline void store(std::int32_t* p, Ints v) {
  vst1q_s32(p, v);
}
inline Ints all(std::int32_t x) {
  return vdupq_n_s32(x);
}
inline Ints add(Ints a, Ints b) {
  return vaddq_s32(a, b);
}
inline Ints sub(Ints a, Ints b) {
  return vsubq_s32(a, b);
}
template <int kBits>
inline Ints shift_left(Ints a) {
  return vshlq_n_s32(a, kBits);
}
template <int kBits>
inline Ints shift_right(Ints a) {
  return vshrq_n_s32(a, kBits);
}  // with the sign
inline Floats to_floats(Ints a) {
  return vcvtq_f32_s32(a);
}
inline Ints bits_of(Floats a) {
  return vreinterpretq_s32_f32(a);
}
inline Floats floats_of_bits(Ints a) {
  return vreinterpretq_f32_s32(a);
}
// Lane i is lane indices[i] of the table; indices are less than kLanes.
inline Floats lookup(Floats table, Ints indices) {
  // Of each index the places of its four bytes.
  const int32x4_t bytes = vaddq_s32(vmulq_s32(indices, vdupq_n_s32(0x04040404)), vdupq_n_s32(0x03020100));
  return vreinterpretq_f32_u8(vqtbl1q_u8(vreinterpretq_u8_f32(table), vreinterpretq_u8_s32(bytes)));
}

// Floats that hold integers of -128 .. 127 to int8, kLanes of them or the first `count`.
inline void store_int8_first(std::int8_t* p, Floats v, std::int64_t count) {
  std::int32_t lanes[kLanes];
  store(lanes, vcvtq_s32_f32(v));
  for (std::int64_t i = 0; i < count; ++i) p[i] = static_cast<std::int8_t>(lanes[i]);
}
inline void store_int8(std::int8_t* p, Floats v) {
  int16x4_t words = vmovn_s32(vcvtq_s32_f32(v));
  int8x8_t bytes = vmovn_s16(vcombine_s16(words, words));
  vst1_lane_s32(reinterpret_cast<std::int32_t*>(p), vreinterpret_s32_s8(bytes), 0);
}
inline Ints load_int8_first(const std::int8_t* p, std::int64_t count) {
  std::int32_t lanes[kLanes] = {};
  for (std::int64_t i = 0; i < count; ++i) lanes[i] = p[i];
  return load(lanes);
}
inline Ints load_int8(const std::int8_t* p) {
  return load_int8_first(p, kLanes);
}

inline Floats square_root(Floats a) {
  return vsqrtq_f32(a);
}
// sum = fma(a, b, sum)
inline void accumulate(Floats& sum, Floats a, Floats b) {
  sum = fma(a, b, sum);
}
inline Ints round_to_ints(Floats v) {
  return vcvtnq_s32_f32(v);
}
// The integers of kVectors vectors, of -128 .. 127, to int8, none of them below `low`.
template <int kVectors>
inline void store_bytes(std::int8_t* p, const Ints (&v)[kVectors], std::int8_t low) {
  for (int i = 0; i < kVectors; ++i) {
    int16x4_t words = vqmovn_s32(v[i]);
    int8x8_t bytes = vmax_s8(vqmovn_s16(vcombine_s16(words, words)), vdup_n_s8(low));
    std::int32_t four = vget_lane_s32(vreinterpret_s32_s8(bytes), 0);
    __builtin_memcpy(p + i * kLanes, &four, sizeof four);
  }
}

// Rows of a tile of 1, 2, ... vectors: what the registers hold without spilling. Panels of a float product
// are kPanel vectors wide, the last one up to kLastPanel.
constexpr int kInt8TileRows[] = {0, 8, 8, 6, 4};
constexpr int kFloatTileRows[] = {0, 8, 8, 8, 6}, kPanel = 4, kLastPanel = 4;

}  // namespace
}  // namespace octet::simd::OCTET_SIMD
