#pragma once
#include "kernels/simd/int8_vec.h"
#include "kernels/simd/store.h"

// From int32 sums to the outputs of an integer convolution or product.
namespace octet::simd::OCTET_SIMD {
namespace {

// The most frequent epilogue, in the fewest instructions: an int8 output, and no activation function but a
// clamp. As the quantizer's multiplication is monotone, the bounds of the clamp are multiplied once and the
// values are clamped behind it.
struct ByteClamp {
  bool possible = false;  // to do this epilogue so
  float multiplier = 0, high = 0;
  std::int8_t low = 0;

  explicit ByteClamp(const Int8Target& target) {
    const Epilogue& epilogue = *target.epilogue;
    const Quantizer& q = epilogue.quantizer;
    bool relu6 = epilogue.activation == Activation::kRelu6;
    bool clamps = relu6 || epilogue.activation == Activation::kRelu;
    possible = target.integers && !target.floats && !target.residual && !target.residual_integers &&
               !q.away && (clamps || epilogue.activation == Activation::kNone);
    if (!possible) return;
    multiplier = q.multiplier;
    high = q.high;
    low = static_cast<std::int8_t>(q.low);
    if (!clamps) return;
    low = 0;
    float six = relu6 ? multiplier * epilogue.args[0] : high;
    possible = multiplier > 0 && multiplier < __builtin_inff() && six >= 0;
    if (six < high) high = six;
  }
};

// Rescaled sums to what store_bytes() wants.
struct ClampedInts {
  explicit ClampedInts(const ByteClamp& clamp)
      : multiplier(all(clamp.multiplier)), high(all(clamp.high)), low(all(static_cast<float>(clamp.low))) {}
  Ints operator()(Floats x) const {
    Floats v = min(high, mul(multiplier, x));
    // On x86 NaN and what is too low for an int32 become the lowest integer by themselves.
    if constexpr (!kLowestForNan) v = max(v, low);
    return round_to_ints(v);
  }
  Floats multiplier, high, low;
};

// Where results wait for the epilogue: enough rows that the choice of the activation function costs nothing,
// few enough to stay in the L1 cache.
constexpr std::int64_t kBlockRows = 80;

// Calls use(function), where function maps a vector to what, rounded to integers, is quantized: as
// with_quantizer() does, but the rounding is left to the conversion.
template <class Use>
inline void with_rounding(const Quantizer& q, const Use& use) {
  if (q.away) return with_quantizer(q, use);
  Floats multiplier = all(q.multiplier), low = all(q.low), high = all(q.high);
  use([=](Floats x) { return max(min(high, mul(multiplier, x)), low); });
}

// Rows of sums to rows of bytes, if there are any: value(x, at) makes integers, none below `low`, of a vector
// of rescaled sums, whose place in the target is `at`. Everything is passed by value, so that no store of a
// result can change it.
template <int kVectors, class Value>
inline void finish_rows(const std::int32_t* sums, std::int64_t rows, const float* multipliers,
                        const float* biases, std::int8_t* to, std::int64_t stride, std::int8_t low,
                        Value value) {
  Floats multiplier[kVectors], bias[kVectors];
  for (int v = 0; v < kVectors; ++v) multiplier[v] = load(multipliers + v * kLanes);
  for (int v = 0; v < kVectors; ++v) bias[v] = load(biases + v * kLanes);
  std::int64_t at = 0;
  for (std::int64_t r = 0; r < rows; ++r, at += stride, sums += kVectors * kLanes) {
    Ints integers[kVectors];
    for (int v = 0; v < kVectors; ++v)
      integers[v] = value(fma(to_floats(load(sums + v * kLanes)), multiplier[v], bias[v]), at + v * kLanes);
    if (to) store_bytes<kVectors>(to + at, integers, low);
  }
}

// Rescales the sums, applies the epilogue and stores `rows` rows of kVectors whole vectors.
template <int kVectors>
[[gnu::noinline]] void finish_whole(const std::int32_t* sums, std::int64_t rows, const float* multipliers,
                                    const float* biases, const Int8Target& target) {
  std::int8_t* to = target.integers;
  std::int64_t stride = target.stride;
  const ByteClamp clamp(target);
  if (clamp.possible) {
    const ClampedInts clamped(clamp);
    return finish_rows<kVectors>(sums, rows, multipliers, biases, to, stride, clamp.low,
                                 [=](Floats x, std::int64_t) { return clamped(x); });
  }
  const float* residual = target.residual;
  const std::int8_t* residual_integers = target.residual_integers;
  const Floats step = all(target.residual_step);
  float* floats = target.floats;
  with_activation(*target.epilogue, [&](auto activation) {
    with_rounding(target.epilogue->quantizer, [&](auto quantize) {
      finish_rows<kVectors>(sums, rows, multipliers, biases, to, stride, -128,
                            [=](Floats x, std::int64_t at) {
                              if (residual) x = add(x, load(residual + at));
                              if (residual_integers)
                                x = add(x, mul(to_floats(load_int8(residual_integers + at)), step));
                              x = activation(x);
                              if (floats) store(floats + at, x);
                              return round_to_ints(quantize(x));
                            });
    });
  });
}

// The same for rows of `columns` channels, from row `first` of the target on.
template <int kVectors>
void finish(const std::int32_t* sums, std::int64_t rows, const float* multipliers, const float* biases,
            std::int64_t columns, const Int8Target& target, std::int64_t first) {
  constexpr std::int64_t kWidth = kVectors * kLanes;
  Int8Target part = target;
  std::int64_t start = first * target.stride;
  if (part.residual) part.residual += start;
  if (part.residual_integers) part.residual_integers += start;
  if (part.floats) part.floats += start;
  if (part.integers) part.integers += start;
  if (columns == kWidth) return finish_whole<kVectors>(sums, rows, multipliers, biases, part);

  // Vectors would reach beyond the last channel: row by row over memory that has room for them.
  alignas(64) float residual[kWidth] = {}, floats[kWidth];
  std::int8_t integers[kWidth], residual_integers[kWidth] = {};
  auto copy = [&](auto* to, const auto* from) { std::memcpy(to, from, columns * sizeof *to); };
  Int8Target row = part;
  if (part.residual) row.residual = residual;
  if (part.residual_integers) row.residual_integers = residual_integers;
  if (part.floats) row.floats = floats;
  if (part.integers) row.integers = integers;
  for (std::int64_t r = 0; r < rows; ++r, sums += kWidth) {
    std::int64_t at = r * target.stride;
    if (part.residual) copy(residual, part.residual + at);
    if (part.residual_integers) copy(residual_integers, part.residual_integers + at);
    finish_whole<kVectors>(sums, 1, multipliers, biases, row);
    if (part.floats) copy(part.floats + at, floats);
    if (part.integers) copy(part.integers + at, integers);
  }
}

}  // namespace
}  // namespace octet::simd::OCTET_SIMD
