#pragma once
#include <immintrin.h>

#include <cstdint>

namespace octet::simd::OCTET_SIMD {
namespace {

using Floats = __m512;
using Ints = __m512i;  // int32
using Mask = __mmask16;
constexpr int kLanes = 16;

inline __mmask16 first_lanes(std::int64_t count) {
  return static_cast<__mmask16>((1u << count) - 1);
}

inline Floats load(const float* p) {
  return _mm512_loadu_ps(p);
}
inline void store(float* p, Floats v) {
  _mm512_storeu_ps(p, v);
}
// The first `count` lanes, 0 <= count <= kLanes; the others are 0, and their memory is not touched.
inline Floats load_first(const float* p, std::int64_t count) {
  return _mm512_maskz_loadu_ps(first_lanes(count), p);
}
inline void store_first(float* p, Floats v, std::int64_t count) {
  _mm512_mask_storeu_ps(p, first_lanes(count), v);
}
inline Floats all(float x) {
  return _mm512_set1_ps(x);
}
inline Floats all_of(const float* p) {
  return _mm512_set1_ps(*p);
}
inline Floats zeros() {
  return _mm512_setzero_ps();
}

inline Floats add(Floats a, Floats b) {
  return _mm512_add_ps(a, b);
}
inline Floats sub(Floats a, Floats b) {
  return _mm512_sub_ps(a, b);
}
inline Floats mul(Floats a, Floats b) {
  return _mm512_mul_ps(a, b);
}
inline Floats div(Floats a, Floats b) {
  return _mm512_div_ps(a, b);
}
inline Floats fma(Floats a, Floats b, Floats c) {
  return _mm512_fmadd_ps(a, b, c);
}
// a > b ? a : b, and a < b ? a : b: b where one is NaN.
inline Floats max(Floats a, Floats b) {
  return _mm512_max_ps(a, b);
}
inline Floats min(Floats a, Floats b) {
  return _mm512_min_ps(a, b);
}
inline Floats round_even(Floats a) {
  return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
inline Floats truncate(Floats a) {
  return _mm512_roundscale_ps(a, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
}
inline Floats copy_sign(Floats magnitude, Floats sign) {
  Floats bit = _mm512_set1_ps(-0.0f);
  return _mm512_or_ps(_mm512_andnot_ps(bit, magnitude), _mm512_and_ps(bit, sign));
}
inline Mask greater(Floats a, Floats b) {
  return _mm512_cmp_ps_mask(a, b, _CMP_GT_OQ);
}
inline Mask less(Floats a, Floats b) {
  return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ);
}
inline Mask equal(Floats a, Floats b) {
  return _mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ);
}
inline Floats choose(Mask mask, Floats yes, Floats no) {
  return _mm512_mask_blend_ps(mask, no, yes);
}

inline Ints load(const std::int32_t* p) {
  return _mm512_loadu_si512(p);
}
inline void store(std::int32_t* p, Ints v) {
  _mm512_storeu_si512(p, v);
}
inline Ints all(std::int32_t x) {
  return _mm512_set1_epi32(x);
}
inline Ints add(Ints a, Ints b) {
  return _mm512_add_epi32(a, b);
}
inline Ints sub(Ints a, Ints b) {
  return _mm512_sub_epi32(a, b);
}
template <int kBits>
inline Ints shift_left(Ints a) {
  return _mm512_slli_epi32(a, kBits);
}
template <int kBits>
inline Ints shift_right(Ints a) {
  return _mm512_srai_epi32(a, kBits);
}  // with the sign
inline Floats to_floats(Ints a) {
  return _mm512_cvtepi32_ps(a);
}
inline Ints bits_of(Floats a) {
  return _mm512_castps_si512(a);
}
inline Floats floats_of_bits(Ints a) {
  return _mm512_castsi512_ps(a);
}
// Lane i is lane indices[i] of the table; indices are less than kLanes.
inline Floats lookup(Floats table, Ints indices) {
  return _mm512_permutexvar_ps(indices, table);
}

// Floats that hold integers of -128 .. 127 to int8, kLanes of them or the first `count`.
inline void store_int8(std::int8_t* p, Floats v) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_cvtsepi32_epi8(_mm512_cvttps_epi32(v)));
}
inline void store_int8_first(std::int8_t* p, Floats v, std::int64_t count) {
  _mm_mask_storeu_epi8(p, first_lanes(count), _mm512_cvtsepi32_epi8(_mm512_cvttps_epi32(v)));
}
inline Ints load_int8(const std::int8_t* p) {
  return _mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
}
inline Ints load_int8_first(const std::int8_t* p, std::int64_t count) {
  return _mm512_cvtepi8_epi32(_mm_maskz_loadu_epi8(first_lanes(count), p));
}

inline Floats square_root(Floats a) {
  return _mm512_sqrt_ps(a);
}
// sum = fma(a, b, sum), in place. Of the three forms of the instruction GCC 12 picks also those that
// overwrite a factor, and then moves sums about in the inner loop, which costs up to 8 %, depending on what
// comes after the loop.
[[gnu::always_inline]] inline void accumulate(Floats& sum, Floats a, Floats b) {
  asm("vfmadd231ps %2, %1, %0" : "+v"(sum) : "v"(a), "v"(b));
}

// A vector as int8 ("bytes") or as int16 ("words").
inline Ints load_bytes(const std::int8_t* p) {
  return _mm512_loadu_si512(p);
}
// The first `count` bytes, 0 <= count < 64; the others are those of `rest`, and their memory is not touched.
inline Ints load_bytes_first(const std::int8_t* p, std::int64_t count, Ints rest) {
  return _mm512_mask_loadu_epi8(rest, (__mmask64{1} << count) - 1, p);
}
inline void copy_bytes(std::int8_t* to, const std::int8_t* from, std::int64_t count) {
  __mmask64 mask = (__mmask64{1} << count) - 1;
  _mm512_mask_storeu_epi8(to, mask, _mm512_maskz_loadu_epi8(mask, from));
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
inline Ints low_bytes(Ints a, Ints b) {
  return _mm512_unpacklo_epi8(a, b);
}
inline Ints high_bytes(Ints a, Ints b) {
  return _mm512_unpackhi_epi8(a, b);
}
inline Ints low_words(Ints a, Ints b) {
  return _mm512_unpacklo_epi16(a, b);
}
inline Ints high_words(Ints a, Ints b) {
  return _mm512_unpackhi_epi16(a, b);
}
inline Ints round_to_ints(Floats v) {
  return _mm512_cvtps_epi32(v);
}

// The integers of kVectors vectors, of -128 .. 127, to int8, none of them below `low`.
template <int kVectors>
inline void store_bytes(std::int8_t* p, const Ints (&v)[kVectors], std::int8_t low) {
  auto* to = reinterpret_cast<__m128i*>(p);
  if constexpr (kVectors == 1)
    return _mm_storeu_si128(to, _mm_max_epi8(_mm512_cvtsepi32_epi8(v[0]), _mm_set1_epi8(low)));
  Ints words = _mm512_packs_epi32(v[0], v[kVectors > 1 ? 1 : 0]), more = words;
  if constexpr (kVectors > 2) more = _mm512_packs_epi32(v[2], v[kVectors > 3 ? 3 : 2]);
  Ints order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  Ints bytes = _mm512_max_epi8(_mm512_packs_epi16(words, more), all_bytes(low));
  bytes = _mm512_permutexvar_epi32(order, bytes);
  if constexpr (kVectors == 4) return _mm512_storeu_si512(p, bytes);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_castsi512_si256(bytes));
  if constexpr (kVectors == 3) _mm_storeu_si128(to + 2, _mm512_extracti32x4_epi32(bytes, 2));
}
// The same for sums of a depthwise convolution, which lie as avx2/int8.h says.
inline void store_block(std::int8_t* to, const Ints (&v)[4], std::int8_t low) {
  Ints bytes = _mm512_packs_epi16(_mm512_packs_epi32(v[0], v[1]), _mm512_packs_epi32(v[2], v[3]));
  _mm512_storeu_si512(to, _mm512_max_epi8(bytes, all_bytes(low)));
}

// Rows of a tile of 1, 2, ... vectors: what the registers hold without spilling. Panels of a float product
// are kPanel vectors wide, the last one up to kLastPanel.
constexpr int kInt8TileRows[] = {0, 8, 8, 8, 6};
constexpr int kFloatTileRows[] = {0, 8, 8, 8}, kPanel = 2, kLastPanel = 3;

// What Winograd in integers wants of words, 2 * kLanes of them.
struct WordVectors {
  static constexpr bool kFourVectors = true;  // whether panels of so many fill the registers
  static constexpr int kTileRows[] = {0, 8, 12, 8, 6};
  static Ints load(const std::int16_t* p) { return _mm512_loadu_si512(p); }
  static void store(std::int16_t* p, Ints v) { _mm512_storeu_si512(p, v); }
  static Ints widen(const std::int8_t* p) {
    return _mm512_cvtepi8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
  }
  static Ints add(Ints a, Ints b) { return _mm512_add_epi16(a, b); }
  static Ints sub(Ints a, Ints b) { return _mm512_sub_epi16(a, b); }
  static Ints twice(Ints a) { return _mm512_slli_epi16(a, 1); }
  static Ints four_times(Ints a) { return _mm512_slli_epi16(a, 2); }
  // sum + products, two added
  static Ints add_pairs(Ints sum, Ints a, Ints b) { return _mm512_add_epi32(sum, _mm512_madd_epi16(a, b)); }
  static Ints times(Ints a, Ints b) { return _mm512_mullo_epi32(a, b); }  // of int32, modulo 2^32
};

// What a depthwise convolution of 5 x 5 taps wants of quads: kLanes units of four bytes.
struct QuadVectors {
  static Ints load(const std::int8_t* p) { return _mm512_loadu_si512(p); }
  static void store(std::int8_t* p, Ints v) { _mm512_storeu_si512(p, v); }
  // Of kLanes bytes from each of four rows, and `shift` added to them.
  static Ints make(const std::int8_t* const (&rows)[4], std::int8_t shift) {
    auto at = [&](int r) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(rows[r])); };
    Ints all = _mm512_inserti32x4(_mm512_castsi128_si512(at(0)), at(1), 1);
    all = _mm512_inserti32x4(_mm512_inserti32x4(all, at(2), 2), at(3), 3);
    const Ints order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    const __m128i bytes = _mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    all = _mm512_shuffle_epi8(_mm512_permutexvar_epi32(order, all), _mm512_broadcast_i32x4(bytes));
    return _mm512_add_epi8(all, _mm512_set1_epi8(shift));
  }
};

}  // namespace
}  // namespace octet::simd::OCTET_SIMD
