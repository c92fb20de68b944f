#pragma once
#include <cstdint>
#include <cstring>

#include "kernels/simd/int8.h"

// Plain loops for what some instruction sets do by shuffling bytes about. An isa.h has functions of these
// names, or takes these; they are also what is left of a row when whole vectors are done. Included behind a
// vec.h.
namespace octet::simd::OCTET_SIMD {
namespace {

inline std::int32_t unit_at(const std::int8_t* p) {
  std::int32_t unit;
  std::memcpy(&unit, p, sizeof unit);
  return unit;
}

namespace scalar {

// Less bytes than a block has, mostly a multiple of 8.
inline void copy_bytes(std::int8_t* to, const std::int8_t* from, std::int64_t count) {
  std::int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    std::uint64_t bytes;
    std::memcpy(&bytes, from + i, sizeof bytes);
    asm("" : "+r"(bytes));  // or the compiler makes the loop a call of memcpy, which takes longer
    std::memcpy(to + i, &bytes, sizeof bytes);
  }
  for (; i < count; ++i) to[i] = from[i];
}

// y[i] = table[x[i] + 128]; y may be x.
inline void lookup(const std::int8_t* table, const std::int8_t* x, std::int8_t* y, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) y[i] = table[x[i] + 128];
}

// The number of the first of the largest of `count` elements that lie `step` apart; 0 when the first is NaN,
// which nothing is larger than.
inline std::int32_t arg_max(const float* x, std::int64_t count, std::int64_t step) {
  float most = *x;
  std::int32_t best = 0;
  for (std::int64_t k = 1; k < count; ++k) {
    float v = x[k * step];
    bool more = v > most;
    most = more ? v : most;
    best = more ? static_cast<std::int32_t>(k) : best;
  }
  return best;
}
inline std::int32_t arg_max_row(const float* x, std::int64_t count) {
  return arg_max(x, count, 1);
}

// to[column * to_row + row] = from[row * from_row + column]
template <class T>
void transpose(const T* from, std::int64_t from_row, T* to, std::int64_t to_row, std::int64_t rows,
               std::int64_t columns) {
  for (std::int64_t column = 0; column < columns; ++column)
    for (std::int64_t row = 0; row < rows; ++row) to[column * to_row + row] = from[row * from_row + column];
}

// The same for a block of kSide x kSide elements.
template <class T>
struct Block {
  static constexpr std::int64_t kSide = 8;
  static void transpose(const T* from, std::int64_t from_row, T* to, std::int64_t to_row) {
    scalar::transpose(from, from_row, to, to_row, kSide, kSide);
  }
};

// The same for 3 rows that become dense pixels of 3: the picture that a network gets.
template <class T>
void interleave_three(const T* from, std::int64_t from_row, T* to, std::int64_t columns) {
  transpose(from, from_row, to, 3, 3, columns);
}

// Floats that hold integers of -128 .. 127 in several vectors to int8.
template <int kVectors>
inline void store_int8(std::int8_t* p, const Floats (&v)[kVectors]) {
  for (int i = 0; i < kVectors; ++i) OCTET_SIMD::store_int8(p + i * kLanes, v[i]);
}

}  // namespace scalar

}  // namespace
}  // namespace octet::simd::OCTET_SIMD
