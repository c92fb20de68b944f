#pragma once
#include "kernels/simd/avx2/vec.h"

#include "kernels/simd/avx2/int8.h"
#include "kernels/simd/avx2/shuffles.h"

// AVX2 with the 8-bit dot product.
namespace octet::simd::OCTET_SIMD {
namespace {

using scalar::copy_bytes;

// Adds the products of four bytes each.
inline Ints dot(Ints sum, Ints a, Ints w) {
  return _mm256_dpbusd_avx_epi32(sum, a, w);
}

// Adds the products of two words each.
inline Ints dot_words(Ints sum, Ints a, Ints w) {
  return _mm256_dpwssd_avx_epi32(sum, a, w);
}

constexpr bool kStrips = false;
constexpr bool kWinograd = false;

}  // namespace
}  // namespace octet::simd::OCTET_SIMD

#include "kernels/simd/avx2/dot.h"
