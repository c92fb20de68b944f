#pragma once
#include <cstdint>

// The sums of products of which convolutions and matrix products consist.
namespace octet::ref {

// acc[j] = the sum over t of weights[t] * x[offsets[t] + j], for j in [0, count): in the order of t, from +0.
// float: each step is a fused multiply-add. int32: the caller has checked that no sum overflows.
void sum_products(const float* x, const std::int64_t* offsets, const float* weights, std::int64_t terms,
                  float* acc, std::int64_t count);
void sum_products(const std::int32_t* x, const std::int64_t* offsets, const std::int32_t* weights,
                  std::int64_t terms, std::int32_t* acc, std::int64_t count);

}  // namespace octet::ref
