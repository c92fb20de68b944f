#pragma once
#include <cstdint>

// Vectors in the compiler's own notation, of 16 bytes, which every CPU's compiler knows how to split or to
// fill.
namespace octet::simd::OCTET_SIMD {
namespace {

typedef float Floats __attribute__((vector_size(16)));
typedef std::int32_t Ints __attribute__((vector_size(16)));
using Mask = Ints;
constexpr int kLanes = 4;

inline Floats load(const float* p) {
  Floats v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}
inline void store(float* p, Floats v) {
  __builtin_memcpy(p, &v, sizeof v);
}
// The first `count` lanes, 0 <= count <= kLanes; the others are 0, and their memory is not touched.
inline Floats load_first(const float* p, std::int64_t count) {
  Floats v = {};
  for (std::int64_t i = 0; i < count; ++i) v[i] = p[i];
  return v;
}
inline void store_first(float* p, Floats v, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) p[i] = v[i];
}
inline Floats all(float x) {
  return Floats{x, x, x, x};
}
inline Floats all_of(const float* p) {
  return all(*p);
}
inline Floats zeros() {
  return Floats{};
}

inline Floats add(Floats a, Floats b) {
  return a + b;
}
inline Floats sub(Floats a, Floats b) {
  return a - b;
}
inline Floats mul(Floats a, Floats b) {
  return a * b;
}
inline Floats div(Floats a, Floats b) {
  return a / b;
}
template <class Function>
inline Floats each_lane(Floats a, const Function& function) {
  return Floats{function(a[0]), function(a[1]), function(a[2]), function(a[3])};
}
inline Floats fma(Floats a, Floats b, Floats c) {
  return Floats{__builtin_fmaf(a[0], b[0], c[0]), __builtin_fmaf(a[1], b[1], c[1]),
                __builtin_fmaf(a[2], b[2], c[2]), __builtin_fmaf(a[3], b[3], c[3])};
}
// sum = fma(a, b, sum)
inline void accumulate(Floats& sum, Floats a, Floats b) {
  sum = fma(a, b, sum);
}
inline Mask greater(Floats a, Floats b) {
  return a > b;
}
inline Mask less(Floats a, Floats b) {
  return a < b;
}
inline Mask equal(Floats a, Floats b) {
  return a == b;
}
inline Floats choose(Mask mask, Floats yes, Floats no) {
  return mask ? yes : no;
}
// a > b ? a : b, and a < b ? a : b: b where one is NaN.
inline Floats max(Floats a, Floats b) {
  return choose(greater(a, b), a, b);
}
inline Floats min(Floats a, Floats b) {
  return choose(less(a, b), a, b);
}
inline Floats round_even(Floats a) {
  return each_lane(a, [](float x) { return __builtin_nearbyintf(x); });
}
inline Floats truncate(Floats a) {
  return each_lane(a, [](float x) { return __builtin_truncf(x); });
}
inline Floats square_root(Floats a) {
  return each_lane(a, [](float x) { return __builtin_sqrtf(x); });
}

inline Ints load(const std::int32_t* p) {
  Ints v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}
inline void store(std::int32_t* p, Ints v) {
  __builtin_memcpy(p, &v, sizeof v);
}
inline Ints all(std::int32_t x) {
  return Ints{x, x, x, x};
}
inline Ints add(Ints a, Ints b) {
  return a + b;
}
inline Ints sub(Ints a, Ints b) {
  return a - b;
}
template <int kBits>
inline Ints shift_left(Ints a) {
  return a << kBits;
}
template <int kBits>
inline Ints shift_right(Ints a) {
  return a >> kBits;
}  // with the sign
inline Floats to_floats(Ints a) {
  return __builtin_convertvector(a, Floats);
}
inline Ints bits_of(Floats a) {
  return reinterpret_cast<Ints>(a);
}
inline Floats floats_of_bits(Ints a) {
  return reinterpret_cast<Floats>(a);
}
// Lane i is lane indices[i] of the table; indices are less than kLanes.
inline Floats lookup(Floats table, Ints indices) {
  return Floats{table[indices[0]], table[indices[1]], table[indices[2]], table[indices[3]]};
}
inline Ints round_to_ints(Floats v) {
  return __builtin_convertvector(round_even(v), Ints);
}
inline Floats copy_sign(Floats magnitude, Floats sign) {
  Ints bit = bits_of(all(-0.0f));
  return floats_of_bits((bits_of(magnitude) & ~bit) | (bits_of(sign) & bit));
}

// Floats that hold integers of -128 .. 127 to int8, kLanes of them or the first `count`.
inline void store_int8_first(std::int8_t* p, Floats v, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) p[i] = static_cast<std::int8_t>(v[i]);
}
inline void store_int8(std::int8_t* p, Floats v) {
  store_int8_first(p, v, kLanes);
}
inline Ints load_int8_first(const std::int8_t* p, std::int64_t count) {
  Ints v = {};
  for (std::int64_t i = 0; i < count; ++i) v[i] = p[i];
  return v;
}
inline Ints load_int8(const std::int8_t* p) {
  return Ints{p[0], p[1], p[2], p[3]};
}
// The integers of kVectors vectors to int8, none of them below `low`.
template <int kVectors>
inline void store_bytes(std::int8_t* p, const Ints (&v)[kVectors], std::int8_t low) {
  for (int i = 0; i < kVectors * kLanes; ++i) {
    std::int32_t x = v[i / kLanes][i % kLanes];
    p[i] = static_cast<std::int8_t>(x > low ? x : low);
  }
}

// Rows of a tile of 1, 2, ... vectors: few, because a fused multiply-add may be a call. Panels of a float
// product are kPanel vectors wide, the last one up to kLastPanel.
constexpr int kInt8TileRows[] = {0, 2, 2, 2, 2};
constexpr int kFloatTileRows[] = {0, 2, 2, 2}, kPanel = 2, kLastPanel = 3;

}  // namespace
}  // namespace octet::simd::OCTET_SIMD
