#pragma once
#include <cstdint>

namespace octet::simd {

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

// A row of outputs of a bilinear resize, of each of which only the channel with the largest value is asked
// for, the first of equal ones. Columns are padded to whole vectors.
struct ResizeArgMaxRow {
  const float *above,
      *below;         // the rows of the input, channel by channel: pixel x of channel c at c * step + x
  std::int64_t step;  // a multiple of the lanes of a vector, and so many more than there are pixels
  float above_weight, below_weight;
  const std::int64_t* begins;  // of each vector of outputs: the pixel that `first` and `second` count from
  const std::int32_t *first, *second;  // less than the lanes of a vector
  const float *first_weight, *second_weight;
  std::int64_t count, channels;
  float* scratch;  // for two such rows
  std::int32_t* out;
};

// Pooling and resizing.
struct ImageRoutines {
  void (*pool_row)(const PoolRow& row);
  void (*pool_row_int8)(const PoolRow& row);
  void (*resize_row)(const ResizeRow& row);
  void (*resize_row_int8)(const ResizeRow& row);
  void (*resize_arg_max_row)(const ResizeArgMaxRow& row);
};

}  // namespace octet::simd
