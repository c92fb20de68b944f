#pragma once
#include <algorithm>
#include <type_traits>
#include <vector>

#include "base/threads.h"
#include "kernels/ref/sum.h"

// Products of matrices as plain sums, for floats (matmul) and integers (qmatmul).
namespace octet::ref {

// A matrix somewhere in memory.
template <class In>
struct Matrix {
  const In* data;
  std::int64_t rows, columns;
  std::int64_t row_step, column_step;
};

template <class In>
Matrix<In> matrix(const In* data, std::int64_t rows, std::int64_t columns, bool transposed = false) {
  if (transposed) return {data, rows, columns, 1, rows};
  return {data, rows, columns, columns, 1};
}

// Calls finish(row, first column, sums, count) for pieces of the rows of a*b. Each sum runs in the order of
// the inner dimension.
template <class T, class In, class Finish>
void multiply(const Matrix<In>& a, const Matrix<In>& b, ThreadPool& pool, Finish finish) {
  // b as rows of T, unless it is that already.
  std::vector<T> copy;
  const T* right = nullptr;
  if constexpr (std::is_same_v<T, In>)
    if (b.column_step == 1) right = b.data;
  if (!right) {
    copy.resize(static_cast<std::size_t>(b.rows * b.columns));
    auto row = [&](std::int64_t k) {
      for (std::int64_t j = 0; j < b.columns; ++j)
        copy[static_cast<std::size_t>(k * b.columns + j)] =
            static_cast<T>(b.data[k * b.row_step + j * b.column_step]);
    };
    pool.parallel_for(b.rows, row);
    right = copy.data();
  }
  std::vector<std::int64_t> offsets(static_cast<std::size_t>(b.rows));
  for (std::int64_t k = 0; k < b.rows; ++k) offsets[static_cast<std::size_t>(k)] = k * b.columns;

  constexpr std::int64_t kPiece = 512, kTaskRows = 8;
  std::int64_t pieces = (b.columns + kPiece - 1) / kPiece, tasks = (a.rows + kTaskRows - 1) / kTaskRows;
  pool.parallel_for(pieces * tasks, [&](std::int64_t task) {
    std::int64_t first = task / tasks * kPiece, count = std::min(kPiece, b.columns - first);
    std::int64_t begin = task % tasks * kTaskRows;
    std::vector<T> weights(static_cast<std::size_t>(a.columns)), sums(static_cast<std::size_t>(count));
    for (std::int64_t row = begin; row < std::min(begin + kTaskRows, a.rows); ++row) {
      for (std::int64_t k = 0; k < a.columns; ++k)
        weights[static_cast<std::size_t>(k)] = static_cast<T>(a.data[row * a.row_step + k * a.column_step]);
      sum_products(right + first, offsets.data(), weights.data(), a.columns, sums.data(), count);
      finish(row, first, sums.data(), count);
    }
  });
}

}  // namespace octet::ref
