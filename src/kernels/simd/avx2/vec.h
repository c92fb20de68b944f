#pragma once
#include <immintrin.h>

#include <cstdint>

namespace octet::simd::OCTET_SIMD {
namespace {

using Floats = __m256;
using Ints = __m256i;  // int32
using Mask = __m256;
constexpr int kLanes = 8;

alignas(64) constexpr std::int32_t kFirst[16] = {-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0};
// All bits set in the first `count` lanes.
inline Ints first_lanes(std::int64_t count) {
  return _mm256_loadu_si256(reinterpret_cast<const Ints*>(kFirst + 8 - count));
}

inline Floats load(const float* p) {
  return _mm256_loadu_ps(p);
}
inline void store(float* p, Floats v) {
  _mm256_storeu_ps(p, v);
}
// The first `count` lanes, 0 <= count <= kLanes; the others are 0, and their memory is not touched.
inline Floats load_first(const float* p, std::int64_t count) {
  return _mm256_maskload_ps(p, first_lanes(count));
}
inline void store_first(float* p, Floats v, std::int64_t count) {
  _mm256_maskstore_ps(p, first_lanes(count), v);
}
inline Floats all(float x) {
  return _mm256_set1_ps(x);
}
inline Floats all_of(const float* p) {
  return _mm256_broadcast_ss(p);
}
inline Floats zeros() {
  return _mm256_setzero_ps();
}

inline Floats add(Floats a, Floats b) {
  return _mm256_add_ps(a, b);
}
inline Floats sub(Floats a, Floats b) {
  return _mm256_sub_ps(a, b);
}
inline Floats mul(Floats a, Floats b) {
  return _mm256_mul_ps(a, b);
}
inline Floats div(Floats a, Floats b) {
  return _mm256_div_ps(a, b);
}
inline Floats fma(Floats a, Floats b, Floats c) {
  return _mm256_fmadd_ps(a, b, c);
}
// a > b ? a : b, and a < b ? a : b: b where one is NaN.
inline Floats max(Floats a, Floats b) {
  return _mm256_max_ps(a, b);
}
inline Floats min(Floats a, Floats b) {
  return _mm256_min_ps(a, b);
}
inline Floats round_even(Floats a) {
  return _mm256_round_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
inline Floats truncate(Floats a) {
  return _mm256_round_ps(a, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
}
inline Floats copy_sign(Floats magnitude, Floats sign) {
  Floats bit = _mm256_set1_ps(-0.0f);
  return _mm256_or_ps(_mm256_andnot_ps(bit, magnitude), _mm256_and_ps(bit, sign));
}
inline Mask greater(Floats a, Floats b) {
  return _mm256_cmp_ps(a, b, _CMP_GT_OQ);
}
inline Mask less(Floats a, Floats b) {
  return _mm256_cmp_ps(a, b, _CMP_LT_OQ);
}
inline Mask equal(Floats a, Floats b) {
  return _mm256_cmp_ps(a, b, _CMP_EQ_OQ);
}
inline Floats choose(Mask mask, Floats yes, Floats no) {
  return _mm256_blendv_ps(no, yes, mask);
}

inline Ints load(const std::int32_t* p) {
  return _mm256_loadu_si256(reinterpret_cast<const Ints*>(p));
}
inline void store(std::int32_t* p, Ints v) {
  _mm256_storeu_si256(reinterpret_cast<Ints*>(p), v);
}
inline Ints all(std::int32_t x) {
  return _mm256_set1_epi32(x);
}
inline Ints add(Ints a, Ints b) {
  return _mm256_add_epi32(a, b);
}
inline Ints sub(Ints a, Ints b) {
  return _mm256_sub_epi32(a, b);
}
template <int kBits>
inline Ints shift_left(Ints a) {
  return _mm256_slli_epi32(a, kBits);
}
template <int kBits>
inline Ints shift_right(Ints a) {
  return _mm256_srai_epi32(a, kBits);
}  // with the sign
inline Floats to_floats(Ints a) {
  return _mm256_cvtepi32_ps(a);
}
inline Ints bits_of(Floats a) {
  return _mm256_castps_si256(a);
}
inline Floats floats_of_bits(Ints a) {
  return _mm256_castsi256_ps(a);
}
// Lane i is lane indices[i] of the table; indices are less than kLanes.
inline Floats lookup(Floats table, Ints indices) {
  return _mm256_permutevar8x32_ps(table, indices);
}

// Floats that hold integers of -128 .. 127 to int8, kLanes of them or the first `count`.
inline __m128i pack_int8(Floats v) {
  Ints i = _mm256_cvttps_epi32(v);
  __m128i words = _mm_packs_epi32(_mm256_castsi256_si128(i), _mm256_extracti128_si256(i, 1));
  return _mm_packs_epi16(words, words);
}
inline void store_int8(std::int8_t* p, Floats v) {
  _mm_storel_epi64(reinterpret_cast<__m128i*>(p), pack_int8(v));
}
inline void store_int8_first(std::int8_t* p, Floats v, std::int64_t count) {
  alignas(16) std::int8_t bytes[16];
  _mm_store_si128(reinterpret_cast<__m128i*>(bytes), pack_int8(v));
  for (std::int64_t i = 0; i < count; ++i) p[i] = bytes[i];
}
inline Ints load_int8(const std::int8_t* p) {
  return _mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)));
}
inline Ints load_int8_first(const std::int8_t* p, std::int64_t count) {
  alignas(8) std::int8_t bytes[8] = {};
  for (std::int64_t i = 0; i < count; ++i) bytes[i] = p[i];
  return load_int8(bytes);
}

inline Floats square_root(Floats a) {
  return _mm256_sqrt_ps(a);
}
// sum = fma(a, b, sum), in place. Of the three forms of the instruction GCC 12 picks also those that
// overwrite a factor, and then moves sums about in the inner loop, which costs up to 8 %, depending on what
// comes after the loop.
[[gnu::always_inline]] inline void accumulate(Floats& sum, Floats a, Floats b) {
  asm("vfmadd231ps %2, %1, %0" : "+x"(sum) : "x"(a), "x"(b));
}

// Floats that hold integers of -128 .. 127 in several vectors to int8.
inline void store_int8(std::int8_t* p, const Floats (&v)[2]) {
  Ints words = _mm256_packs_epi32(_mm256_cvttps_epi32(v[0]), _mm256_cvttps_epi32(v[1]));
  words = _mm256_permute4x64_epi64(words, 0xd8);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p),
                   _mm_packs_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1)));
}
inline void store_int8(std::int8_t* p, const Floats (&v)[4]) {
  Ints a = _mm256_cvttps_epi32(v[0]), b = _mm256_cvttps_epi32(v[1]);
  Ints c = _mm256_cvttps_epi32(v[2]), d = _mm256_cvttps_epi32(v[3]);
  Ints bytes = _mm256_packs_epi16(_mm256_packs_epi32(a, b), _mm256_packs_epi32(c, d));
  Ints order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
  _mm256_storeu_si256(reinterpret_cast<Ints*>(p), _mm256_permutevar8x32_epi32(bytes, order));
}

// A vector as int8 ("bytes") or as int16 ("words").
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
inline Ints low_bytes(Ints a, Ints b) {
  return _mm256_unpacklo_epi8(a, b);
}
inline Ints high_bytes(Ints a, Ints b) {
  return _mm256_unpackhi_epi8(a, b);
}
inline Ints low_words(Ints a, Ints b) {
  return _mm256_unpacklo_epi16(a, b);
}
inline Ints high_words(Ints a, Ints b) {
  return _mm256_unpackhi_epi16(a, b);
}
inline Ints round_to_ints(Floats v) {
  return _mm256_cvtps_epi32(v);
}

// The integers of kVectors vectors, of -128 .. 127, to int8, none of them below `low`.
template <int kVectors>
inline void store_bytes(std::int8_t* p, const Ints (&v)[kVectors], std::int8_t low) {
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
}
// The same for sums of a depthwise convolution, which lie as avx2/int8.h says.
inline void store_block(std::int8_t* to, const Ints (&v)[4], std::int8_t low) {
  Ints bytes = _mm256_packs_epi16(_mm256_packs_epi32(v[0], v[1]), _mm256_packs_epi32(v[2], v[3]));
  _mm256_storeu_si256(reinterpret_cast<Ints*>(to), _mm256_max_epi8(bytes, all_bytes(low)));
}

// Rows of a tile of 1, 2, ... vectors: what the registers hold without spilling. Panels of a float product
// are kPanel vectors wide, the last one up to kLastPanel.
constexpr int kInt8TileRows[] = {0, 6, 5, 3, 3};
constexpr int kFloatTileRows[] = {0, 8, 6, 4}, kPanel = 2, kLastPanel = 3;

// What Winograd in integers wants of words, 2 * kLanes of them.
struct WordVectors {
  static constexpr bool kFourVectors = false;  // whether panels of so many fill the registers
  static constexpr int kTileRows[] = {0, 6, 6, 3};
  static Ints load(const std::int16_t* p) { return _mm256_loadu_si256(reinterpret_cast<const Ints*>(p)); }
  static void store(std::int16_t* p, Ints v) { _mm256_storeu_si256(reinterpret_cast<Ints*>(p), v); }
  static Ints widen(const std::int8_t* p) {
    return _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  }
  static Ints add(Ints a, Ints b) { return _mm256_add_epi16(a, b); }
  static Ints sub(Ints a, Ints b) { return _mm256_sub_epi16(a, b); }
  static Ints twice(Ints a) { return _mm256_slli_epi16(a, 1); }
  static Ints four_times(Ints a) { return _mm256_slli_epi16(a, 2); }
  // sum + products, two added
  static Ints add_pairs(Ints sum, Ints a, Ints b) { return _mm256_add_epi32(sum, _mm256_madd_epi16(a, b)); }
  static Ints times(Ints a, Ints b) { return _mm256_mullo_epi32(a, b); }  // of int32, modulo 2^32
};

// What a depthwise convolution of 5 x 5 taps wants of quads: kLanes units of four bytes.
struct QuadVectors {
  static Ints load(const std::int8_t* p) { return _mm256_loadu_si256(reinterpret_cast<const Ints*>(p)); }
  static void store(std::int8_t* p, Ints v) { _mm256_storeu_si256(reinterpret_cast<Ints*>(p), v); }
  // Of kLanes bytes from each of four rows, and `shift` added to them.
  static Ints make(const std::int8_t* const (&rows)[4], std::int8_t shift) {
    auto at = [&](int r) { return _mm_loadl_epi64(reinterpret_cast<const __m128i*>(rows[r])); };
    const __m128i upper = _mm_unpacklo_epi8(at(0), at(1)), lower = _mm_unpacklo_epi8(at(2), at(3));
    const Ints all = _mm256_set_m128i(_mm_unpackhi_epi16(upper, lower), _mm_unpacklo_epi16(upper, lower));
    return _mm256_add_epi8(all, _mm256_set1_epi8(shift));
  }
};

}  // namespace
}  // namespace octet::simd::OCTET_SIMD
