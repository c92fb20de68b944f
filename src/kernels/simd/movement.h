#pragma once
#include <cstddef>
#include <cstdint>

namespace octet::simd {

// Elements that are moved without being looked at.
struct MovementRoutines {
  // to[column * to_row + row] = from[row * from_row + column], for elements of 1, 2, 4 or 8 bytes.
  void (*transpose)(std::size_t element, const void* from, std::int64_t from_row, void* to,
                    std::int64_t to_row, std::int64_t rows, std::int64_t columns);
  // Rows of `bytes` that lie from_row and to_row bytes apart.
  void (*copy_rows)(const std::byte* from, std::int64_t from_row, std::byte* to, std::int64_t to_row,
                    std::int64_t bytes, std::int64_t rows);
  // Row i of `to` is row numbers[i] of `from`; both are dense.
  void (*gather_rows)(const std::byte* from, const std::int64_t* numbers, std::byte* to, std::int64_t bytes,
                      std::int64_t rows);
};

}  // namespace octet::simd
