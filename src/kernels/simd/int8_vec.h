#pragma once
#include <cstring>

#include "kernels/simd/int8.h"
#include "kernels/simd/vec.h"

// What the int8 kernels need of an instruction set: the products of one unit (simd/int8.h) of the left side
// with a vector of output channels, for each kind, and bytes to and from memory.
namespace octet::simd::OCTET_SIMD {
namespace {

inline std::int32_t unit_at(const std::int8_t* p) {
  std::int32_t unit;
  std::memcpy(&unit, p, sizeof unit);
  return unit;
}

// Few bytes, mostly a multiple of 8.
inline void copy_bytes(std::int8_t* to, const std::int8_t* from, std::int64_t count) {
  std::int64_t i = 0;
  for (; i + 8 <= count; i += 8) std::memcpy(to + i, from + i, 8);
  for (; i < count; ++i) to[i] = from[i];
}

#if defined(__AVX512F__) || defined(__AVX2__)

constexpr bool kLowestForNan = true;  // round_to_ints() of NaN

#if defined(__AVX512F__)
inline Ints load_bytes(const std::int8_t* p) {
  return _mm512_loadu_si512(p);
}
inline Ints all_bytes(std::int8_t x) {
  return _mm512_set1_epi8(x);
}
inline Ints add_bytes(Ints a, Ints b) {
  return _mm512_add_epi8(a, b);
}
inline Ints add_words(Ints a, Ints b) {
  return _mm512_add_epi16(a, b);
}
inline Ints pairs_of_bytes(Ints a, Ints w) {
  return _mm512_maddubs_epi16(a, w);
}
inline Ints pairs_of_words(Ints a, Ints w) {
  return _mm512_madd_epi16(a, w);
}
inline Ints ones_of_words() {
  return _mm512_set1_epi16(1);
}
inline Ints invert(Ints a, Ints bits) {
  return _mm512_xor_si512(a, bits);
}
inline Ints round_to_ints(Floats v) {
  return _mm512_cvtps_epi32(v);
}
#else
inline Ints load_bytes(const std::int8_t* p) {
  return _mm256_loadu_si256(reinterpret_cast<const Ints*>(p));
}
inline Ints all_bytes(std::int8_t x) {
  return _mm256_set1_epi8(x);
}
inline Ints add_bytes(Ints a, Ints b) {
  return _mm256_add_epi8(a, b);
}
inline Ints add_words(Ints a, Ints b) {
  return _mm256_add_epi16(a, b);
}
inline Ints pairs_of_bytes(Ints a, Ints w) {
  return _mm256_maddubs_epi16(a, w);
}
inline Ints pairs_of_words(Ints a, Ints w) {
  return _mm256_madd_epi16(a, w);
}
inline Ints ones_of_words() {
  return _mm256_set1_epi16(1);
}
inline Ints invert(Ints a, Ints bits) {
  return _mm256_xor_si256(a, bits);
}
inline Ints round_to_ints(Floats v) {
  return _mm256_cvtps_epi32(v);
}
#endif

// Rows of a tile of 1, 2, 3 or 4 vectors: what the registers hold without spilling.
#if defined(__AVX512F__)
constexpr int kTileRows[kMaxVectors + 1] = {0, 8, 8, 8, 6};
#else
constexpr int kTileRows[kMaxVectors + 1] = {0, 6, 5, 3, 3};
#endif

// The left side as bytes of 0..255, with kShift by adding to them.
template <bool kShift>
struct UnsignedBytes {
  static constexpr int rows(int vectors) { return kTileRows[vectors]; }
  static constexpr std::int64_t kVectorBytes = 4 * kLanes;
  explicit UnsignedBytes(std::int8_t by) : shift(all_bytes(by)) {}
  Ints left(const std::int8_t* p) const {
    Ints a = all(unit_at(p));
    if constexpr (kShift) a = add_bytes(a, shift);
    return a;
  }
  Ints shift;
};

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
  static constexpr int rows(int vectors) { return kTileRows[vectors]; }
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

#if defined(__AVX512VNNI__) || defined(__AVXVNNI__)
struct Dot : UnsignedBytes<true> {
  static constexpr bool kTwoUnits = false;
  using UnsignedBytes<true>::UnsignedBytes;
  Ints add(Ints sum, Ints a, const std::int8_t* w) const {
#if defined(__AVX512VNNI__)
    return _mm512_dpbusd_epi32(sum, a, load_bytes(w));
#else
    return _mm256_dpbusd_avx_epi32(sum, a, load_bytes(w));
#endif
  }
};
constexpr bool kHasDot = true;
#else
constexpr bool kHasDot = false;
#endif
constexpr Int8Features kFeatures = {.lanes = kLanes,
                                    .dot = kHasDot,
                                    .pairs2 = true,
                                    .opposed = true,
                                    .bytes = 4 * kLanes,
                                    .unsigned_pairs = true};

#elif defined(__ARM_NEON)

constexpr bool kLowestForNan = false;
constexpr int kTileRows[kMaxVectors + 1] = {0, 8, 8, 6, 4};

inline int8x16_t load_bytes(const std::int8_t* p) {
  return vld1q_s8(p);
}
inline Ints round_to_ints(Floats v) {
  return vcvtnq_s32_f32(v);
}

// Signed bytes as they are: 16 bits hold |a| <= 128 times a pair of weights that are not both -128.
template <bool kShift>
struct Pairs {
  static constexpr int rows(int vectors) { return kTileRows[vectors]; }
  static constexpr std::int64_t kVectorBytes = 4 * kLanes;
  static constexpr bool kTwoUnits = false;
  explicit Pairs(std::int8_t) {}
  int8x16_t left(const std::int8_t* p) const { return vreinterpretq_s8_s32(vdupq_n_s32(unit_at(p))); }
  Ints add(Ints sum, int8x16_t a, const std::int8_t* w) const {
    int8x16_t b = load_bytes(w);
    int16x8_t words = vpaddq_s16(vmull_s8(vget_low_s8(a), vget_low_s8(b)), vmull_high_s8(a, b));
    return vpadalq_s16(sum, words);
  }
};

constexpr Int8Features kFeatures = {.lanes = kLanes,
                                    .dot = false,
                                    .pairs2 = false,
                                    .opposed = false,
                                    .bytes = 4 * kLanes,
                                    .unsigned_pairs = false};

#endif

// The integers of kVectors vectors, of -128 .. 127, to int8, none of them below `low`.
template <int kVectors>
inline void store_bytes(std::int8_t* p, const Ints (&v)[kVectors], std::int8_t low) {
#if defined(__AVX512F__)
  for (int i = 0; i < kVectors; ++i)
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p + i * kLanes),
                     _mm_max_epi8(_mm512_cvtsepi32_epi8(v[i]), _mm_set1_epi8(low)));
#elif defined(__AVX2__)
  Ints words = _mm256_packs_epi32(v[0], v[kVectors > 1 ? 1 : 0]), more = words;
  if constexpr (kVectors > 2) more = _mm256_packs_epi32(v[2], v[kVectors > 3 ? 3 : 2]);
  Ints order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
  Ints bytes = _mm256_permutevar8x32_epi32(_mm256_packs_epi16(words, more), order);
  bytes = _mm256_max_epi8(bytes, _mm256_set1_epi8(low));
  auto* to = reinterpret_cast<__m128i*>(p);
  if constexpr (kVectors == 4) _mm256_storeu_si256(reinterpret_cast<Ints*>(p), bytes);
  if constexpr (kVectors == 2 || kVectors == 3) _mm_storeu_si128(to, _mm256_castsi256_si128(bytes));
  if constexpr (kVectors == 3) _mm_storel_epi64(to + 1, _mm256_extracti128_si256(bytes, 1));
  if constexpr (kVectors == 1) _mm_storel_epi64(to, _mm256_castsi256_si128(bytes));
#else
  for (int i = 0; i < kVectors; ++i) {
    int16x4_t words = vqmovn_s32(v[i]);
    int8x8_t bytes = vmax_s8(vqmovn_s16(vcombine_s16(words, words)), vdup_n_s8(low));
    std::int32_t four = vget_lane_s32(vreinterpret_s32_s8(bytes), 0);
    std::memcpy(p + i * kLanes, &four, sizeof four);
  }
#endif
}

}  // namespace
}  // namespace octet::simd::OCTET_SIMD
