#pragma once
#include "kernels/simd/avx512/vec.h"

#include "kernels/simd/avx2/int8.h"
#include "kernels/simd/avx2/shuffles.h"

// AVX-512 with the 8-bit dot product.
namespace octet::simd::OCTET_SIMD {
namespace {

using scalar::store_int8;

// Adds the products of four bytes each.
inline Ints dot(Ints sum, Ints a, Ints w) {
  return _mm512_dpbusd_epi32(sum, a, w);
}

// Adds the products of two words each.
inline Ints dot_words(Ints sum, Ints a, Ints w) {
  return _mm512_dpwssd_epi32(sum, a, w);
}

constexpr bool kStrips = true;  // 32 registers hold their columns and weights
constexpr bool kWinograd = true;

}  // namespace
}  // namespace octet::simd::OCTET_SIMD

#include "kernels/simd/avx2/dot.h"
