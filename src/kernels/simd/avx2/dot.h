#pragma once

// Integer products by the 8-bit dot product of x86: what an isa.h that has a `dot` and a `dot_words` includes
// last.
namespace octet::simd::OCTET_SIMD {
namespace {

struct Dot : UnsignedBytes<true> {
  static constexpr bool kTwoUnits = false;
  using UnsignedBytes<true>::UnsignedBytes;
  Ints add(Ints sum, Ints a, const std::int8_t* w) const { return dot(sum, a, load_bytes(w)); }
};

struct WinogradWords : WordVectors {
  static Ints add_pairs(Ints sum, Ints a, Ints b) { return dot_words(sum, a, b); }
};

struct QuadUnits : QuadVectors {
  static Ints add(Ints sum, Ints a, Ints w) { return dot(sum, a, w); }
};

template <class Use>
inline void with_kind(const Int8Panel&, const Use& use) {
  use.template operator()<Dot>();
}

constexpr Int8Features kFeatures = features_of_x86(true, kStrips, kWinograd);

}  // namespace
}  // namespace octet::simd::OCTET_SIMD
