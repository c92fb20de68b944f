#pragma once
#include "kernels/simd/avx2/int8.h"

// Products of int8 on x86 without VNNI: pairs of them are added in 16 bits.
namespace octet::simd::OCTET_SIMD {
namespace {

template <bool kShift>
struct Pairs : UnsignedBytes<kShift> {
  static constexpr bool kTwoUnits = false;
  using UnsignedBytes<kShift>::UnsignedBytes;
  Ints add(Ints sum, Ints a, const std::int8_t* w) const {
    return octet::simd::OCTET_SIMD::add(sum, pairs_of_words(pairs_of_bytes(a, load_bytes(w)), ones));
  }
  Ints ones = ones_of_words();
};

template <bool kShift>
struct Pairs2 : Pairs<kShift> {
  static constexpr bool kTwoUnits = true;
  using Pairs<kShift>::Pairs;
  Ints add_two(Ints sum, Ints a, const std::int8_t* w, Ints b, const std::int8_t* v) const {
    Ints words = add_words(pairs_of_bytes(a, load_bytes(w)), pairs_of_bytes(b, load_bytes(v)));
    return octet::simd::OCTET_SIMD::add(sum, pairs_of_words(words, this->ones));
  }
};

struct Opposed {
  static constexpr int rows(int vectors) { return kInt8TileRows[vectors]; }
  static constexpr std::int64_t kVectorBytes = 8 * kLanes;
  static constexpr bool kTwoUnits = false;
  explicit Opposed(std::int8_t) {}
  Ints left(const std::int8_t* p) const { return all(unit_at(p)); }
  Ints add(Ints sum, Ints a, const std::int8_t* w) const {
    Ints words = pairs_of_bytes(invert(a, load_bytes(w)), load_bytes(w + 4 * kLanes));
    return octet::simd::OCTET_SIMD::add(sum, pairs_of_words(words, ones));
  }
  Ints ones = ones_of_words();
};

// Calls use.operator()<Kind>() with the kind of the panel's products.
template <class Use>
inline void with_kind(const Int8Panel& panel, const Use& use) {
  if (panel.kind == Int8Kind::kOpposed) return use.template operator()<Opposed>();
  if (panel.kind == Int8Kind::kPairs2)
    return panel.shift ? use.template operator()<Pairs2<true>>() : use.template operator()<Pairs2<false>>();
  panel.shift ? use.template operator()<Pairs<true>>() : use.template operator()<Pairs<false>>();
}

using WinogradWords = WordVectors;
struct QuadUnits;  // not here: they are for the 8-bit dot product

constexpr Int8Features kFeatures = features_of_x86(false, false, true);

}  // namespace
}  // namespace octet::simd::OCTET_SIMD
