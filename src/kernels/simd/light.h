#pragma once
#include <cstddef>
#include <cstdint>

#include "kernels/epilogue.h"

// The inner loops of everything that is not a convolution or a product. Memory of inputs and outputs does not
// overlap, unless it says so.
namespace octet::simd {

// Functions of one number x; a and b are their arguments.
enum class Map : std::uint8_t {
  kTanh,
  kExp,
  kSqrt,
  kAbs,
  kGeluTanh,
  kClip,            // to [a, b]
  kMultiply,        // x*a
  kMultiplyAdd,     // (x*a) + b
  kAddMultiply,     // (x + a) * b
  kMultiplyDivide,  // (x*a) / b
};

// Functions of two numbers.
enum class Pair : std::uint8_t { kAdd, kSub, kMul, kDiv, kMax, kMin };

// z = epilogue(x op y), for rows of a dense result. int8 operands are multiplied by their step first.
struct PairRows {
  Pair op;
  const Epilogue* epilogue;
  const void *x, *y;
  float x_step, y_step;
  std::int64_t x_row, y_row;  // elements from a row to the next
  bool x_moves, y_moves;      // along a row; otherwise one element stands for the whole row
  std::int64_t rows, columns;
  float* floats;  // these two may be null; floats may be x, where they are read in the same order
  std::int8_t* integers;
};

// The part of an axis that an output of a pooling covers, and the length that an average divides by.
struct PoolSpan {
  std::int64_t begin, end, length;
};

// A row of outputs, of an image in channels-last.
struct PoolRow {
  bool max;                       // or the average
  const void* image;              // at the first channel to do
  std::int64_t width;             // in pixels
  std::int64_t pixel, out_pixel;  // elements from a pixel to the next
  std::int64_t channels;          // how many to do
  PoolSpan y;
  const PoolSpan* columns;
  std::int64_t count;  // of columns
  void* out;
};

// Where an output of a resize lies between its neighbours along an axis.
struct ResizePoint {
  std::int64_t first, second;
  float first_weight, second_weight;
};

// A row of outputs of a bilinear resize, in channels-last.
struct ResizeRow {
  const void *above, *below;  // the rows of the input
  float above_weight, below_weight;
  const ResizePoint* columns;
  std::int64_t count, channels;
  void* out;
};

// What is folded into one output: for each of `rows` offsets, `count` elements that lie `step` apart.
struct Fold {
  const std::int64_t* offsets;
  std::int64_t rows, count, step;
};

struct LightRoutines {
  // y[i] = activation(x[i]); x and y may be the same, here and in map and lookup.
  void (*activate)(const Epilogue& epilogue, const float* x, float* y, std::int64_t count);
  void (*map)(Map function, float a, float b, const float* x, float* y, std::int64_t count);
  void (*lookup)(const std::int8_t* table, const std::int8_t* x, std::int8_t* y, std::int64_t count);
  void (*quantize)(const Quantizer& quantizer, const float* x, std::int8_t* y, std::int64_t count);
  void (*dequantize)(const std::int8_t* x, float abs_max, float bound, float* y, std::int64_t count);

  void (*pair)(const PairRows& rows);
  void (*pair_int8)(const PairRows& rows);
  // y = fma(x, a, b) for rows that follow each other, with an a and b for each row or for each column.
  void (*scale_rows)(const float* x, const float* a, const float* b, bool by_column, float* y,
                     std::int64_t rows, std::int64_t columns);

  void (*pool_row)(const PoolRow& row);
  void (*pool_row_int8)(const PoolRow& row);
  void (*resize_row)(const ResizeRow& row);
  void (*resize_row_int8)(const ResizeRow& row);

  // to[column * to_row + row] = from[row * from_row + column], for elements of 1, 2, 4 or 8 bytes.
  void (*transpose)(std::size_t element, const void* from, std::int64_t from_row, void* to,
                    std::int64_t to_row, std::int64_t rows, std::int64_t columns);
  // Rows of `bytes` that lie from_row and to_row bytes apart.
  void (*copy_rows)(const std::byte* from, std::int64_t from_row, std::byte* to, std::int64_t to_row,
                    std::int64_t bytes, std::int64_t rows);
  // Row i of `to` is row numbers[i] of `from`; both are dense.
  void (*gather_rows)(const std::byte* from, const std::int64_t* numbers, std::byte* to, std::int64_t bytes,
                      std::int64_t rows);

  // Over rows that follow each other; y may be x.
  void (*softmax_rows)(const float* x, float* y, std::int64_t rows, std::int64_t count);
  // Over `count` elements that lie `step` apart, for `columns` neighbours at once; y may be x.
  void (*softmax_columns)(const float* x, float* y, std::int64_t count, std::int64_t step,
                          std::int64_t columns);
  void (*layer_norm_rows)(const float* x, float* y, std::int64_t rows, std::int64_t count, const float* scale,
                          const float* bias, float epsilon);

  // out[i] = the sum in double divided by `divisor`, or the maximum; output i reads from x + i*spacing.
  void (*sum)(const float* x, const Fold& fold, std::int64_t spacing, double divisor, float* out,
              std::int64_t outputs);
  void (*maximum)(const float* x, const Fold& fold, std::int64_t spacing, float* out, std::int64_t outputs);
  // out[i] = the number of the first of the largest of `count` elements that lie `step` apart, from
  // x + i*spacing on.
  void (*arg_max)(const float* x, std::int64_t count, std::int64_t step, std::int64_t spacing,
                  std::int32_t* out, std::int64_t outputs);
};

}  // namespace octet::simd
