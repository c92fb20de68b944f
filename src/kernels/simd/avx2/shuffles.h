#pragma once
#include <immintrin.h>

#include "kernels/simd/scalar.h"

// What x86 does by shuffling bytes about; see simd/scalar.h for what it is.
namespace octet::simd::OCTET_SIMD {
namespace {

inline void lookup(const std::int8_t* table, const std::int8_t* x, std::int8_t* y, std::int64_t count) {
  std::int64_t i = 0;
  // A shuffle looks 16 numbers up by the low bits of an index, and gives 0 where its highest bit is set. With
  // s = x - 16k (which stays negative once it is), steps k = 0, 1, ... of x >= 0 add up, by exclusive or, to
  // what the last step that still took part wants. The same for x < 0, of which x ^ 128 is not negative.
  __m256i steps[16];
  const __m128i* rows = reinterpret_cast<const __m128i*>(table);
  for (int k = 0; k < 16; ++k) {
    __m128i row = _mm_loadu_si128(rows + k);
    if (k % 8 != 0) row = _mm_xor_si128(row, _mm_loadu_si128(rows + k - 1));
    steps[k] = _mm256_broadcastsi128_si256(row);
  }
  __m256i sixteen = _mm256_set1_epi8(16), top = _mm256_set1_epi8(-128);
  for (; i + 32 <= count; i += 32) {
    __m256i high = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x + i));
    __m256i low = _mm256_xor_si256(high, top);  // table[0] is for -128
    __m256i result = _mm256_setzero_si256();
    for (int k = 0; k < 8; ++k) {
      result = _mm256_xor_si256(result, _mm256_shuffle_epi8(steps[k], low));
      result = _mm256_xor_si256(result, _mm256_shuffle_epi8(steps[k + 8], high));
      low = _mm256_subs_epi8(low, sixteen);
      high = _mm256_subs_epi8(high, sixteen);
    }
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(y + i), result);
  }
  scalar::lookup(table, x + i, y + i, count - i);
}

// Of `count` neighbours: the largest of them, then the first that equals it. None does when the first is
// NaN, which nothing is larger than.
inline std::int32_t arg_max_row(const float* x, std::int64_t count) {
  if (count < 8) return scalar::arg_max_row(x, count);
  __m256 most = _mm256_broadcast_ss(x);
  for (std::int64_t k = 0; k < count; k += 8) {
    __m256 v = _mm256_loadu_ps(x + (k + 8 > count ? count - 8 : k));
    most = _mm256_max_ps(v, most);
  }
  most = _mm256_max_ps(most, _mm256_permute2f128_ps(most, most, 1));
  most = _mm256_max_ps(most, _mm256_permute_ps(most, 0x4e));
  most = _mm256_max_ps(most, _mm256_permute_ps(most, 0xb1));
  // A bit each, 64 at a time, so that the jumps do not depend on where the largest is.
  for (std::int64_t begin = 0; begin < count; begin += 64) {
    std::int64_t end = begin + 64 < count ? begin + 64 : count;
    std::uint64_t equal_bits = 0;
    for (std::int64_t k = begin; k < end; k += 8) {
      std::int64_t at = k + 8 > count ? count - 8 : k;
      auto bits = static_cast<std::uint64_t>(
          _mm256_movemask_ps(_mm256_cmp_ps(_mm256_loadu_ps(x + at), most, _CMP_EQ_OQ)));
      equal_bits |= at >= begin ? bits << (at - begin) : bits >> (begin - at);
    }
    if (equal_bits) return static_cast<std::int32_t>(begin + __builtin_ctzll(equal_bits));
  }
  return 0;
}

template <class T>
struct Block;

template <>
struct Block<std::uint32_t> {
  static constexpr std::int64_t kSide = 8;
  static void transpose(const std::uint32_t* from, std::int64_t from_row, std::uint32_t* to,
                        std::int64_t to_row) {
    __m256 r[8], t[8];
    for (int i = 0; i < 8; ++i) {
      // Row i and row i + 4, half of each: then a step that crosses the halves is not needed.
      const float* p = reinterpret_cast<const float*>(from + (i % 4) * from_row + i / 4 * 4);
      r[i] = _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(p)), _mm_loadu_ps(p + 4 * from_row), 1);
    }
    for (int i = 0; i < 8; i += 4) {
      t[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
      t[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
      t[i + 2] = _mm256_unpacklo_ps(r[i + 2], r[i + 3]);
      t[i + 3] = _mm256_unpackhi_ps(r[i + 2], r[i + 3]);
    }
    float* out = reinterpret_cast<float*>(to);
    for (int i = 0; i < 8; i += 4) {
      _mm256_storeu_ps(out + i * to_row, _mm256_shuffle_ps(t[i], t[i + 2], 0x44));
      _mm256_storeu_ps(out + (i + 1) * to_row, _mm256_shuffle_ps(t[i], t[i + 2], 0xee));
      _mm256_storeu_ps(out + (i + 2) * to_row, _mm256_shuffle_ps(t[i + 1], t[i + 3], 0x44));
      _mm256_storeu_ps(out + (i + 3) * to_row, _mm256_shuffle_ps(t[i + 1], t[i + 3], 0xee));
    }
  }
};

template <>
struct Block<std::uint8_t> {
  static constexpr std::int64_t kSide = 16;
  static void transpose(const std::uint8_t* from, std::int64_t from_row, std::uint8_t* to,
                        std::int64_t to_row) {
    __m128i a[16], b[16];
    for (int i = 0; i < 16; ++i)
      a[i] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i * from_row));
    // Four times: the rows of the two halves interleaved.
    auto interleave = [](const __m128i* x, __m128i* y) {
      for (int i = 0; i < 8; ++i) {
        y[2 * i] = _mm_unpacklo_epi8(x[i], x[i + 8]);
        y[2 * i + 1] = _mm_unpackhi_epi8(x[i], x[i + 8]);
      }
    };
    interleave(a, b);
    interleave(b, a);
    interleave(a, b);
    interleave(b, a);
    for (int i = 0; i < 16; ++i) _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i * to_row), a[i]);
  }
};

// 3 rows to dense pixels of 3: the picture that a network gets. A pixel is stored as 4 numbers, and the next
// one overwrites the fourth.
inline void interleave_three(const std::uint32_t* words, std::int64_t from_row, std::uint32_t* pixels,
                             std::int64_t columns) {
  const float* from = reinterpret_cast<const float*>(words);
  float* to = reinterpret_cast<float*>(pixels);
  std::int64_t i = 0;
  for (; i + 5 <= columns; i += 4) {
    __m128 r = _mm_loadu_ps(from + i), g = _mm_loadu_ps(from + from_row + i),
           b = _mm_loadu_ps(from + 2 * from_row + i);
    __m128 low = _mm_unpacklo_ps(r, g), high = _mm_unpackhi_ps(r, g);  // r0 g0 r1 g1, r2 g2 r3 g3
    _mm_storeu_ps(to + 3 * i, _mm_shuffle_ps(low, b, _MM_SHUFFLE(0, 0, 1, 0)));
    _mm_storeu_ps(to + 3 * i + 3, _mm_shuffle_ps(low, b, _MM_SHUFFLE(1, 1, 3, 2)));
    _mm_storeu_ps(to + 3 * i + 6, _mm_shuffle_ps(high, b, _MM_SHUFFLE(2, 2, 1, 0)));
    _mm_storeu_ps(to + 3 * i + 9, _mm_shuffle_ps(high, b, _MM_SHUFFLE(3, 3, 3, 2)));
  }
  scalar::interleave_three(words + i, from_row, pixels + 3 * i, columns - i);
}

inline void interleave_three(const std::uint8_t* from, std::int64_t from_row, std::uint8_t* to,
                             std::int64_t columns) {
  // Byte j of the result is of row j % 3 and column j / 3.
  __m128i places[3][3];
  for (int part = 0; part < 3; ++part)
    for (int row = 0; row < 3; ++row) {
      alignas(16) std::int8_t place[16];
      for (int j = 0; j < 16; ++j)
        place[j] = static_cast<std::int8_t>((16 * part + j) % 3 == row ? (16 * part + j) / 3 : -1);
      places[part][row] = _mm_load_si128(reinterpret_cast<const __m128i*>(place));
    }
  std::int64_t i = 0;
  for (; i + 16 <= columns; i += 16) {
    __m128i rows[3];
    for (int row = 0; row < 3; ++row)
      rows[row] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + row * from_row + i));
    for (int part = 0; part < 3; ++part) {
      __m128i v = _mm_shuffle_epi8(rows[0], places[part][0]);
      v = _mm_or_si128(v, _mm_shuffle_epi8(rows[1], places[part][1]));
      v = _mm_or_si128(v, _mm_shuffle_epi8(rows[2], places[part][2]));
      _mm_storeu_si128(reinterpret_cast<__m128i*>(to + 3 * i + 16 * part), v);
    }
  }
  scalar::interleave_three(from + i, from_row, to + 3 * i, columns - i);
}

}  // namespace
}  // namespace octet::simd::OCTET_SIMD
