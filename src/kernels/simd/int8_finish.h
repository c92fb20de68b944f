#pragma once
#include "kernels/simd/int8_vec.h"
#include "kernels/simd/store.h"

// From int32 sums to the outputs of an integer convolution or product.
namespace octet::simd::OCTET_SIMD {
namespace {

// An epilogue that can be done in registers, right behind the sums: an int8 output, and no activation
// function but a clamp. As the quantizer's multiplication is monotone, the bounds of the clamp are multiplied
// once and the values are clamped behind it. All others take a way over a buffer and finish().
struct ByteClamp {
  bool possible = false;  // to do this epilogue so
  float multiplier = 0, high = 0;
  std::int8_t low = 0;

  explicit ByteClamp(const Int8Target& target) {
    const Epilogue& epilogue = *target.epilogue;
    const Quantizer& q = epilogue.quantizer;
    bool relu6 = epilogue.activation == Activation::kRelu6;
    bool clamps = relu6 || epilogue.activation == Activation::kRelu;
    possible = target.integers && !target.floats && !target.residual && !q.away &&
               (clamps || epilogue.activation == Activation::kNone);
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

// Sums to what store_bytes() wants.
struct ClampedInts {
  explicit ClampedInts(const ByteClamp& clamp)
      : multiplier(all(clamp.multiplier)), high(all(clamp.high)), low(all(static_cast<float>(clamp.low))) {}
  Ints operator()(Ints sum, Floats scale, Floats bias) const {
    Floats v = min(high, mul(multiplier, fma(to_floats(sum), scale, bias)));
    // On x86 NaN and what is too low for an int32 become the lowest integer by themselves.
    if constexpr (!kLowestForNan) v = max(v, low);
    return round_to_ints(v);
  }
  Floats multiplier, high, low;
};

// Where results wait for the epilogue: enough rows that the choice of the activation function costs nothing,
// few enough to stay in the L1 cache.
constexpr std::int64_t kBlockRows = 40;

// Calls use(function), where function maps a vector to what, rounded to integers, is quantized: as
// with_quantizer() does, but the rounding is left to the conversion.
template <class Use>
inline void with_rounding(const Quantizer& q, const Use& use) {
  if (q.away) return with_quantizer(q, use);
  Floats multiplier = all(q.multiplier), low = all(q.low), high = all(q.high);
  use([=](Floats x) { return max(min(high, mul(multiplier, x)), low); });
}

// Copies the first `columns` bytes of rows of integers.
template <int kVectors>
void store_rows(const std::int32_t* integers, std::int64_t rows, std::int64_t columns, std::int8_t* to,
                std::int64_t stride) {
  for (std::int64_t r = 0; r < rows; ++r, integers += kVectors * kLanes, to += stride) {
    Ints v[kVectors];
    for (int i = 0; i < kVectors; ++i) v[i] = load(integers + i * kLanes);
    if (columns == kVectors * kLanes)
      store_bytes<kVectors>(to, v, -128);
    else
      store_bytes_first<kVectors>(to, v, -128, columns);
  }
}

// Rescales the sums, applies the epilogue and stores `rows` rows of kVectors vectors; changes the sums.
template <int kVectors>
[[gnu::noinline]] void finish(std::int32_t* sums, std::int64_t rows, const float* multipliers,
                              const float* biases, std::int64_t columns, const Int8Target& target,
                              std::int64_t first) {
  constexpr std::int64_t kWidth = kVectors * kLanes;
  std::int64_t start = first * target.stride;
  auto each = [&](auto activation, auto put) {
    for (std::int64_t c = 0; c < columns; c += kLanes) {
      Floats multiplier = load(multipliers + c), bias = load(biases + c);
      std::int64_t count = columns - c, at = start + c;
      std::int32_t* sum = sums + c;
      for (std::int64_t r = 0; r < rows; ++r, sum += kWidth, at += target.stride) {
        Floats v = fma(to_floats(load(sum)), multiplier, bias);
        if (target.residual)
          v = add(v, count >= kLanes ? load(target.residual + at) : load_first(target.residual + at, count));
        v = activation(v);
        if (target.floats) {
          if (count >= kLanes)
            store(target.floats + at, v);
          else
            store_first(target.floats + at, v, count);
        }
        put(v, sum);
      }
    }
  };
  with_activation(*target.epilogue, [&](auto activation) {
    if (!target.integers) return each(activation, [](Floats, std::int32_t*) {});
    with_rounding(target.epilogue->quantizer, [&](auto quantize) {
      each(activation, [&](Floats v, std::int32_t* sum) { store(sum, round_to_ints(quantize(v))); });
    });
  });
  if (target.integers) store_rows<kVectors>(sums, rows, columns, target.integers + start, target.stride);
}

}  // namespace
}  // namespace octet::simd::OCTET_SIMD
