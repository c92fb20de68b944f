#include "kernels/ref/sum.h"

#include <algorithm>
#include <cmath>

#include "kernels/ref/clones.h"

namespace octet::ref {
namespace {

inline float multiply_add(float a, float b, float c) {
  return std::fma(a, b, c);
}
inline std::int32_t multiply_add(std::int32_t a, std::int32_t b, std::int32_t c) {
  return a * b + c;
}

// The next `kTerms` terms of every sum. Several at once, so that acc is loaded and stored once for all of
// them; the order within a sum stays.
template <int kTerms, class T>
[[gnu::always_inline]] inline void add_terms(const T* x, const std::int64_t* offsets, const T* weights,
                                             T* __restrict acc, std::int64_t count) {
  const T* rows[kTerms];
  T factors[kTerms];
  for (int t = 0; t < kTerms; ++t) {
    rows[t] = x + offsets[t];
    factors[t] = weights[t];
  }
  for (std::int64_t j = 0; j < count; ++j) {
    T sum = acc[j];
#pragma GCC unroll 8
    for (int t = 0; t < kTerms; ++t) sum = multiply_add(factors[t], rows[t][j], sum);
    acc[j] = sum;
  }
}

template <class T>
[[gnu::always_inline]] inline void sum_all(const T* x, const std::int64_t* offsets, const T* weights,
                                           std::int64_t terms, T* acc, std::int64_t count) {
  std::fill_n(acc, count, T{0});
  std::int64_t t = 0;
  for (; t + 8 <= terms; t += 8) add_terms<8>(x, offsets + t, weights + t, acc, count);
  for (; t + 3 <= terms; t += 3) add_terms<3>(x, offsets + t, weights + t, acc, count);
  for (; t < terms; ++t) add_terms<1>(x, offsets + t, weights + t, acc, count);
}

}  // namespace

OCTET_CLONES void sum_products(const float* x, const std::int64_t* offsets, const float* weights,
                               std::int64_t terms, float* acc, std::int64_t count) {
  sum_all(x, offsets, weights, terms, acc, count);
}

OCTET_CLONES void sum_products(const std::int32_t* x, const std::int64_t* offsets,
                               const std::int32_t* weights, std::int64_t terms, std::int32_t* acc,
                               std::int64_t count) {
  sum_all(x, offsets, weights, terms, acc, count);
}

}  // namespace octet::ref
