#pragma once
#include <cstdint>

namespace octet::simd {

// What is reduced to one output: for each of `rows` offsets, `count` elements that lie `step` apart.
struct ReductionTerms {
  const std::int64_t* offsets;
  std::int64_t rows, count, step;
};

// Normalisation and reductions.
struct ReductionRoutines {
  // Over rows that follow each other; y may be x.
  void (*softmax_rows)(const float* x, float* y, std::int64_t rows, std::int64_t count);
  // Over `count` elements that lie `step` apart, for `columns` neighbours at once; y may be x.
  void (*softmax_columns)(const float* x, float* y, std::int64_t count, std::int64_t step,
                          std::int64_t columns);
  void (*layer_norm_rows)(const float* x, float* y, std::int64_t rows, std::int64_t count, const float* scale,
                          const float* bias, float epsilon);

  // out[i] = the sum in double divided by `divisor`, or the maximum; output i reads from x + i*spacing.
  void (*sum)(const float* x, const ReductionTerms& terms, std::int64_t spacing, double divisor, float* out,
              std::int64_t outputs);
  void (*maximum)(const float* x, const ReductionTerms& terms, std::int64_t spacing, float* out,
                  std::int64_t outputs);
  // out[i] = the number of the first of the largest of `count` elements that lie `step` apart, from
  // x + i*spacing on.
  void (*arg_max)(const float* x, std::int64_t count, std::int64_t step, std::int64_t spacing,
                  std::int32_t* out, std::int64_t outputs);
};

}  // namespace octet::simd
