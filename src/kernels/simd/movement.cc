#include "kernels/simd/movement.h"

#include <cstring>

#include "kernels/simd/isa.h"
#include "kernels/simd/table.h"

namespace octet::simd::OCTET_SIMD {
namespace {

// Block by block, of so many rows at a time that they are in the L1 cache when they are read again for the
// next columns. Columns go outside there: the rows of the result are written one after the other. The last
// block of a row or column ends where that ends, and does some elements once more.
template <class T>
void transpose_blocks(const T* from, std::int64_t from_row, T* to, std::int64_t to_row, std::int64_t rows,
                      std::int64_t columns) {
  constexpr std::int64_t kSide = Block<T>::kSide, kBytes = 16 << 10;
  if (rows == 3 && to_row == 3) return interleave_three(from, from_row, to, columns);
  if (rows < kSide || columns < kSide) return scalar::transpose(from, from_row, to, to_row, rows, columns);
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

void transpose(std::size_t element, const void* from, std::int64_t from_row, void* to, std::int64_t to_row,
               std::int64_t rows, std::int64_t columns) {
  auto run = [&](auto method, auto sample) {
    using T = decltype(sample);
    method(static_cast<const T*>(from), from_row, static_cast<T*>(to), to_row, rows, columns);
  };
  switch (element) {
    case 1:
      return run(transpose_blocks<std::uint8_t>, std::uint8_t());
    case 2:
      return run(scalar::transpose<std::uint16_t>, std::uint16_t());
    case 4:
      return run(transpose_blocks<std::uint32_t>, std::uint32_t());
    default:
      return run(scalar::transpose<std::uint64_t>, std::uint64_t());
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

}  // namespace

constinit const MovementRoutines kMovement = {
    .transpose = transpose,
    .copy_rows = copy_rows,
    .gather_rows = gather_rows,
};

}  // namespace octet::simd::OCTET_SIMD
