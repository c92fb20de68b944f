#pragma once
#include "kernels/simd/avx2/vec.h"

#include "kernels/simd/avx2/int8.h"
#include "kernels/simd/avx2/shuffles.h"

// AVX2 with the 8-bit dot product.
namespace octet::simd::OCTET_SIMD {
namespace {

struct Dot : UnsignedBytes<true> {
  static constexpr bool kTwoUnits = false;
  using UnsignedBytes<true>::UnsignedBytes;
  Ints add(Ints sum, Ints a, const std::int8_t* w) const {
    return _mm256_dpbusd_avx_epi32(sum, a, load_bytes(w));
  }
};

template <class Use>
inline void with_kind(const Int8Panel&, const Use& use) {
  use.template operator()<Dot>();
}

constexpr Int8Features kFeatures = features_of_x86(true);

}  // namespace
}  // namespace octet::simd::OCTET_SIMD
