#pragma once
#include <cstdint>

#include "kernels/epilogue.h"
#include "kernels/simd/winograd.h"

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
  const float* bias;  // null, or one per column and zeros up to the panel's end
  std::int64_t columns;
  float alpha;  // the sums are multiplied by it
  FloatTarget target;
};

// A convolution of which every channel is one of its own, of some rows of an image whose channels come last.
struct FloatDepthwise {
  const float* x;
  std::int64_t in_h, in_w, channels;
  std::int64_t kernel_h, kernel_w, stride_y, stride_x, dilation_y, dilation_x;
  std::int64_t before_y, before_x;  // padding
  std::int64_t out_w, first_row, rows;
  // Vector after vector of channels, each tap after tap. The last vector holds the last channels, so it
  // overlaps the one before it; but with less channels than a vector has, zeros are behind them.
  const float* weights;
  const float* bias;   // null, or in the same vectors
  const float* zeros;  // as many as channels
  FloatTarget target;  // of the whole image
};

// A block of tiles of a 3x3 convolution.
struct FloatWinograd {
  WinogradTiles tiles;
  const float* x;
  // The tiles transformed: 36 matrices tiles x channels, the rows padded to whole vectors, `input_step`
  // floats from matrix to matrix. And what they were multiplied to, tiles x output channels, likewise.
  float* input;
  std::int64_t input_step;
  float* output;
  std::int64_t output_step;
  const float* zeros;  // as many as channels
  const float* bias;   // null, or padded with zeros to whole vectors
  FloatTarget target;
};

// Convolutions and products of floats.
struct FloatRoutines {
  int lanes;  // floats in a vector
  // The width of the first panel of `columns` columns.
  std::int64_t (*panel_width)(std::int64_t columns);
  void (*multiply)(const FloatProduct& product);
  void (*depthwise)(const FloatDepthwise& depthwise);
  void (*winograd_input)(const FloatWinograd& winograd);
  void (*winograd_output)(const FloatWinograd& winograd);
};

}  // namespace octet::simd
