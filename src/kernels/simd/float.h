#pragma once
#include <cstdint>

#include "kernels/epilogue.h"

namespace octet::simd {

// Where results go: `stride` elements from row to row. Any pointer may be null: then there is no such thing.
struct FloatTarget {
  const Epilogue* epilogue = nullptr;
  const float* residual = nullptr;
  float* floats = nullptr;
  std::int8_t* integers = nullptr;
  std::int64_t stride = 0;
};

// A product of matrices, the left one as it lies in memory, the right one packed.
//
// Row r of the left matrix is made of `taps` pieces of `depth` numbers; piece t of it begins at
// pieces[t * piece_step + r]. That is a row of a matrix (one piece), or the pixels under a kernel.
//
// The right matrix, taps * depth rows, is packed in panels of columns: panel after panel, within a panel row
// after row, as many numbers each as panel_width() says, zeros behind the last column. So the panel that
// begins with column c begins at weights + c * taps * depth.
struct FloatProduct {
  const float* const* pieces;
  std::int64_t piece_step, taps, depth, rows;
  const float* weights;
  const float* bias;  // null, or one a column and zeros up to the panel's end
  std::int64_t columns;
  float alpha;  // the sums are multiplied by it
  FloatTarget target;
};

// Convolutions and products of floats.
struct FloatRoutines {
  int lanes;  // floats in a vector
  // The width of the first panel of `columns` columns.
  std::int64_t (*panel_width)(std::int64_t columns);
  void (*multiply)(const FloatProduct& product);
};

}  // namespace octet::simd
