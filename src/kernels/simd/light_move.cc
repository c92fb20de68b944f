#include <cstring>

#include "kernels/simd/light_routines.h"
#include "kernels/simd/vec.h"

namespace octet::simd::OCTET_SIMD {
namespace {

template <class T>
void transpose_plain(const T* from, std::int64_t from_row, T* to, std::int64_t to_row, std::int64_t rows,
                     std::int64_t columns) {
  for (std::int64_t column = 0; column < columns; ++column)
    for (std::int64_t row = 0; row < rows; ++row) to[column * to_row + row] = from[row * from_row + column];
}

// A block of kSide x kSide elements.
template <class T>
struct Block;

#if defined(__AVX2__)
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
#else
template <>
struct Block<std::uint32_t> {
  static constexpr std::int64_t kSide = 4;
  static void transpose(const std::uint32_t* from, std::int64_t from_row, std::uint32_t* to,
                        std::int64_t to_row) {
    uint32x4x2_t a = vtrnq_u32(vld1q_u32(from), vld1q_u32(from + from_row));
    uint32x4x2_t b = vtrnq_u32(vld1q_u32(from + 2 * from_row), vld1q_u32(from + 3 * from_row));
    vst1q_u32(to, vcombine_u32(vget_low_u32(a.val[0]), vget_low_u32(b.val[0])));
    vst1q_u32(to + to_row, vcombine_u32(vget_low_u32(a.val[1]), vget_low_u32(b.val[1])));
    vst1q_u32(to + 2 * to_row, vcombine_u32(vget_high_u32(a.val[0]), vget_high_u32(b.val[0])));
    vst1q_u32(to + 3 * to_row, vcombine_u32(vget_high_u32(a.val[1]), vget_high_u32(b.val[1])));
  }
};

template <>
struct Block<std::uint8_t> {
  static constexpr std::int64_t kSide = 16;
  static void transpose(const std::uint8_t* from, std::int64_t from_row, std::uint8_t* to,
                        std::int64_t to_row) {
    uint8x16_t a[16], b[16];
    for (int i = 0; i < 16; ++i) a[i] = vld1q_u8(from + i * from_row);
    auto interleave = [](const uint8x16_t* x, uint8x16_t* y) {
      for (int i = 0; i < 8; ++i) {
        y[2 * i] = vzip1q_u8(x[i], x[i + 8]);
        y[2 * i + 1] = vzip2q_u8(x[i], x[i + 8]);
      }
    };
    interleave(a, b);
    interleave(b, a);
    interleave(a, b);
    interleave(b, a);
    for (int i = 0; i < 16; ++i) vst1q_u8(to + i * to_row, a[i]);
  }
};
#endif

// Block by block, of so many rows at a time that they are in the L1 cache when they are read again for the
// next columns. Columns go outside there: the rows of the result are written one after the other. The last
// block of a row or column ends where that ends, and does some elements once more.
template <class T>
void transpose_blocks(const T* from, std::int64_t from_row, T* to, std::int64_t to_row, std::int64_t rows,
                      std::int64_t columns) {
  constexpr std::int64_t kSide = Block<T>::kSide, kBytes = 16 << 10;
  if (rows < kSide || columns < kSide) return transpose_plain(from, from_row, to, to_row, rows, columns);
  std::int64_t most = kBytes / (columns * static_cast<std::int64_t>(sizeof(T))) / kSide * kSide;
  if (most < kSide) most = kSide;
  for (std::int64_t first = 0; first < rows; first += most) {
    std::int64_t end = first + most < rows ? first + most : rows;
    for (std::int64_t c = 0; c < columns; c += kSide) {
      std::int64_t column = c + kSide > columns ? columns - kSide : c;
      for (std::int64_t r = first; r < end; r += kSide) {
        std::int64_t row = r + kSide > rows ? rows - kSide : r;
        Block<T>::transpose(from + row * from_row + column, from_row, to + column * to_row + row, to_row);
      }
    }
  }
}

#if defined(__AVX2__)
// 3 rows to dense pixels of 3: the picture that a network gets. A pixel is stored as 4 numbers, and the next
// one overwrites the fourth.
void interleave_three(const float* from, std::int64_t from_row, float* to, std::int64_t columns) {
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
  transpose_plain(from + i, from_row, to + 3 * i, 3, 3, columns - i);
}

void interleave_three(const std::uint8_t* from, std::int64_t from_row, std::uint8_t* to,
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
  transpose_plain(from + i, from_row, to + 3 * i, 3, 3, columns - i);
}
#endif

// kBytes of the begin and kBytes of the end, which may overlap.
template <int kBytes>
inline void copy_ends(const std::byte* from, std::byte* to, std::int64_t bytes) {
  typedef std::uint8_t Vector __attribute__((vector_size(kBytes)));
  Vector first, last;
  std::memcpy(&first, from, kBytes);
  std::memcpy(&last, from + bytes - kBytes, kBytes);
  std::memcpy(to, &first, kBytes);
  std::memcpy(to + bytes - kBytes, &last, kBytes);
}

// Without a call of memcpy for what is short.
inline void copy(const std::byte* from, std::byte* to, std::int64_t bytes) {
  constexpr std::int64_t kVector = 32, kLong = 1024;
  typedef std::uint8_t Vector __attribute__((vector_size(kVector)));
  if (bytes > kLong || bytes < 4) {
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
  } else if (bytes < 8) {
    copy_ends<4>(from, to, bytes);
  } else if (bytes < 16) {
    copy_ends<8>(from, to, bytes);
  } else if (bytes < 32) {
    copy_ends<16>(from, to, bytes);
  } else {
    Vector v;
    for (std::int64_t i = 0; i + kVector < bytes; i += kVector) {
      std::memcpy(&v, from + i, kVector);
      std::memcpy(to + i, &v, kVector);
    }
    std::memcpy(&v, from + bytes - kVector, kVector);  // ends where the bytes end
    std::memcpy(to + bytes - kVector, &v, kVector);
  }
}

}  // namespace

void transpose(std::size_t element, const void* from, std::int64_t from_row, void* to, std::int64_t to_row,
               std::int64_t rows, std::int64_t columns) {
  auto run = [&](auto method, auto sample) {
    using T = decltype(sample);
    method(static_cast<const T*>(from), from_row, static_cast<T*>(to), to_row, rows, columns);
  };
  switch (element) {
    case 1:
#if defined(__AVX2__)
      if (rows == 3 && to_row == 3)
        return interleave_three(static_cast<const std::uint8_t*>(from), from_row,
                                static_cast<std::uint8_t*>(to), columns);
#endif
      return run(transpose_blocks<std::uint8_t>, std::uint8_t());
    case 2:
      return run(transpose_plain<std::uint16_t>, std::uint16_t());
    case 4:
#if defined(__AVX2__)
      if (rows == 3 && to_row == 3)
        return interleave_three(static_cast<const float*>(from), from_row, static_cast<float*>(to), columns);
#endif
      return run(transpose_blocks<std::uint32_t>, std::uint32_t());
    default:
      return run(transpose_plain<std::uint64_t>, std::uint64_t());
  }
}

void copy_rows(const std::byte* from, std::int64_t from_row, std::byte* to, std::int64_t to_row,
               std::int64_t bytes, std::int64_t rows) {
  for (std::int64_t row = 0; row < rows; ++row) copy(from + row * from_row, to + row * to_row, bytes);
}

void gather_rows(const std::byte* from, const std::int64_t* numbers, std::byte* to, std::int64_t bytes,
                 std::int64_t rows) {
  for (std::int64_t row = 0; row < rows; ++row) copy(from + numbers[row] * bytes, to + row * bytes, bytes);
}

}  // namespace octet::simd::OCTET_SIMD
