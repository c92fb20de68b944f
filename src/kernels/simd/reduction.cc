#include "kernels/simd/reduction.h"

#include "kernels/simd/store.h"
#include "kernels/simd/table.h"

// Sums run in double from left to right, as the reference says: a chain of additions, of which several rows
// (or columns) make several at once.
namespace octet::simd::OCTET_SIMD {
namespace {

constexpr int kChains = 4;

typedef float FourFloats __attribute__((vector_size(16)));
typedef double FourDoubles __attribute__((vector_size(32)));

inline FourFloats load_four(const float* p) {
  FourFloats v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}

// The sums of kRows rows, `spacing` apart.
template <int kRows, class Term>
inline void sum_chains(const float* x, const ReductionTerms& f, std::int64_t spacing, double* sums,
                       const Term& term) {
  double s[kRows] = {};
  for (std::int64_t row = 0; row < f.rows; ++row) {
    const float* from = x + f.offsets[row];
    for (std::int64_t i = 0; i < f.count; ++i, from += f.step)
      for (int k = 0; k < kRows; ++k) s[k] += term(static_cast<double>(from[k * spacing]), k);
  }
  for (int k = 0; k < kRows; ++k) sums[k] = s[k];
}

// kVectors * 4 neighbours.
template <int kVectors>
inline void sum_neighbours(const float* x, const ReductionTerms& f, double divisor, float* out) {
  FourDoubles s[kVectors] = {};
  for (std::int64_t row = 0; row < f.rows; ++row) {
    const float* from = x + f.offsets[row];
    for (std::int64_t i = 0; i < f.count; ++i, from += f.step)
      for (int k = 0; k < kVectors; ++k)
        s[k] += __builtin_convertvector(load_four(from + 4 * k), FourDoubles);
  }
  for (int k = 0; k < kVectors; ++k)
    for (int lane = 0; lane < 4; ++lane) out[4 * k + lane] = static_cast<float>(s[k][lane] / divisor);
}

// The first x of `count`, if it is NaN, else the largest that is not.
inline float largest_of(const float* x, std::int64_t count) {
  Floats most = all(*x);
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    Floats v = load(x + i);
    most = choose(greater(v, most), v, most);
  }
  alignas(64) float lanes[kLanes];
  store(lanes, most);
  float largest = lanes[0];
  for (int k = 1; k < kLanes; ++k) largest = lanes[k] > largest ? lanes[k] : largest;
  for (; i < count; ++i) largest = x[i] > largest ? x[i] : largest;
  return largest;
}

// y[i] = function(x[i]); y may be x. The last vector ends where the row ends, and does some elements once
// more; it is made before these are overwritten.
template <class Function>
inline void map_row(const float* x, float* y, std::int64_t count, const Function& function) {
  std::int64_t i = 0, rest = count % kLanes;
  if (count < kLanes) return store_first(y, function(load_first(x, count)), count);
  Floats last = rest > 0 ? function(load(x + count - kLanes)) : zeros();
  for (; i + kLanes <= count; i += kLanes) store(y + i, function(load(x + i)));
  if (rest > 0) store(y + count - kLanes, last);
}

template <int kRows>
inline void softmax_some(const float* x, float* y, std::int64_t count) {
  for (int k = 0; k < kRows; ++k) {
    Floats largest = all(largest_of(x + k * count, count));
    map_row(x + k * count, y + k * count, count, [=](Floats v) { return exp_of(sub(v, largest)); });
  }
  std::int64_t begin = 0;
  double sums[kRows];
  sum_chains<kRows>(y, {&begin, 1, count, 1}, count, sums, [](double v, int) { return v; });
  for (int k = 0; k < kRows; ++k) {
    Floats divisor = all(static_cast<float>(sums[k]));
    map_row(y + k * count, y + k * count, count, [=](Floats v) { return div(v, divisor); });
  }
}

template <int kRows>
inline void layer_norm_some(const float* x, float* y, std::int64_t count, const float* scale,
                            const float* bias, float epsilon) {
  std::int64_t begin = 0;
  ReductionTerms terms{&begin, 1, count, 1};
  double sums[kRows];
  float mean[kRows];
  sum_chains<kRows>(x, terms, count, sums, [](double v, int) { return v; });
  for (int k = 0; k < kRows; ++k) mean[k] = static_cast<float>(sums[k] / static_cast<double>(count));
  sum_chains<kRows>(x, terms, count, sums, [&](double v, int k) {
    double distance = v - static_cast<double>(mean[k]);
    return distance * distance;
  });
  for (int k = 0; k < kRows; ++k, x += count, y += count) {
    auto variance = static_cast<float>(sums[k] / static_cast<double>(count));
    Floats factor = all(1.0f / __builtin_sqrtf(variance + epsilon)), m = all(mean[k]);
    std::int64_t i = 0;
    for (; i < count; i += kLanes) {
      std::int64_t rest = count - i;
      bool whole = rest >= kLanes;
      auto take = [&](const float* p) { return whole ? load(p + i) : load_first(p + i, rest); };
      Floats normal = mul(sub(take(x), m), factor);
      Floats v = fma(normal, scale ? take(scale) : all(1.0f), bias ? take(bias) : zeros());
      whole ? store(y + i, v) : store_first(y + i, v, rest);
    }
  }
}

void softmax_rows(const float* x, float* y, std::int64_t rows, std::int64_t count) {
  std::int64_t row = 0;
  for (; row + kChains <= rows; row += kChains)
    softmax_some<kChains>(x + row * count, y + row * count, count);
  for (; row < rows; ++row) softmax_some<1>(x + row * count, y + row * count, count);
}

void softmax_columns(const float* x, float* y, std::int64_t count, std::int64_t step, std::int64_t columns) {
  for (std::int64_t c = 0; c < columns; c += kLanes) {
    std::int64_t lanes = columns - c < kLanes ? columns - c : kLanes;
    bool whole = lanes == kLanes;
    auto take = [&](const float* p) { return whole ? load(p) : load_first(p, lanes); };
    auto put = [&](float* p, Floats v) { whole ? store(p, v) : store_first(p, v, lanes); };
    Floats most = take(x + c);
    for (std::int64_t i = 1; i < count; ++i) {
      Floats v = take(x + c + i * step);
      most = choose(greater(v, most), v, most);
    }
    double sums[kLanes] = {};
    alignas(64) float terms[kLanes];
    for (std::int64_t i = 0; i < count; ++i) {
      Floats v = exp_of(sub(take(x + c + i * step), most));
      put(y + c + i * step, v);
      store(terms, v);
      for (int k = 0; k < kLanes; ++k) sums[k] += static_cast<double>(terms[k]);
    }
    for (int k = 0; k < kLanes; ++k) terms[k] = static_cast<float>(sums[k]);
    Floats divisor = load(terms);
    for (std::int64_t i = 0; i < count; ++i) put(y + c + i * step, div(take(y + c + i * step), divisor));
  }
}

void layer_norm_rows(const float* x, float* y, std::int64_t rows, std::int64_t count, const float* scale,
                     const float* bias, float epsilon) {
  std::int64_t row = 0;
  for (; row + kChains <= rows; row += kChains)
    layer_norm_some<kChains>(x + row * count, y + row * count, count, scale, bias, epsilon);
  for (; row < rows; ++row) layer_norm_some<1>(x + row * count, y + row * count, count, scale, bias, epsilon);
}

void sum(const float* x, const ReductionTerms& terms, std::int64_t spacing, double divisor, float* out,
         std::int64_t outputs) {
  std::int64_t i = 0;
  if (spacing == 1) {
    for (; i + 16 <= outputs; i += 16) sum_neighbours<4>(x + i, terms, divisor, out + i);
    for (; i + 4 <= outputs; i += 4) sum_neighbours<1>(x + i, terms, divisor, out + i);
  }
  auto some = [&]<int kRows>() {
    double sums[kRows];
    sum_chains<kRows>(x + i * spacing, terms, spacing, sums, [](double v, int) { return v; });
    for (int k = 0; k < kRows; ++k) out[i + k] = static_cast<float>(sums[k] / divisor);
  };
  for (; i + kChains <= outputs; i += kChains) some.template operator()<kChains>();
  for (; i < outputs; ++i) some.template operator()<1>();
}

void maximum(const float* x, const ReductionTerms& terms, std::int64_t spacing, float* out,
             std::int64_t outputs) {
  constexpr float kLowest = -__builtin_inff();
  std::int64_t i = 0;
  if (spacing == 1)
    for (; i < outputs; i += kLanes) {
      std::int64_t lanes = outputs - i;
      bool whole = lanes >= kLanes;
      Floats most = all(kLowest);
      for (std::int64_t row = 0; row < terms.rows; ++row) {
        const float* from = x + i + terms.offsets[row];
        for (std::int64_t k = 0; k < terms.count; ++k, from += terms.step) {
          Floats v = whole ? load(from) : load_first(from, lanes);
          most = choose(greater(v, most), v, most);
        }
      }
      whole ? store(out + i, most) : store_first(out + i, most, lanes);
    }
  for (; i < outputs; ++i) {
    float most = kLowest;
    for (std::int64_t row = 0; row < terms.rows; ++row) {
      const float* from = x + i * spacing + terms.offsets[row];
      for (std::int64_t k = 0; k < terms.count; ++k) {
        float v = from[k * terms.step];
        most = v > most ? v : most;
      }
    }
    out[i] = most;
  }
}

void arg_max(const float* x, std::int64_t count, std::int64_t step, std::int64_t spacing, std::int32_t* out,
             std::int64_t outputs) {
  std::int64_t i = 0;
  if (spacing == 1)
    for (; i + kLanes <= outputs; i += kLanes) {
      Floats most = load(x + i), best = zeros();
      for (std::int64_t k = 1; k < count; ++k) {
        Floats v = load(x + i + k * step);
        Mask more = greater(v, most);
        most = choose(more, v, most);
        best = choose(more, floats_of_bits(all(static_cast<std::int32_t>(k))), best);
      }
      store(out + i, bits_of(best));
    }
  for (; i < outputs; ++i)
    out[i] = step == 1 ? arg_max_row(x + i * spacing, count) : scalar::arg_max(x + i * spacing, count, step);
}

}  // namespace

constinit const ReductionRoutines kReduction = {
    .softmax_rows = softmax_rows,
    .softmax_columns = softmax_columns,
    .layer_norm_rows = layer_norm_rows,
    .sum = sum,
    .maximum = maximum,
    .arg_max = arg_max,
};

}  // namespace octet::simd::OCTET_SIMD
