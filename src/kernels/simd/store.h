#pragma once
#include "kernels/epilogue.h"
#include "kernels/simd/isa.h"

// The epilogue, on vectors: the same operations in the same order as kernels/ref/activation.h, exp.h and
// kernels/quantizer.h, so the same bits.
namespace octet::simd::OCTET_SIMD {
namespace {

inline Floats exp_of(Floats x) {
  Floats clamped = choose(less(x, all(-104.0f)), all(-104.0f), x);
  clamped = choose(greater(clamped, all(89.0f)), all(89.0f), clamped);
  Floats round = all(0x1.8p23f);
  Floats shifted = fma(clamped, all(0x1.715476p+0f), round);
  Floats n = sub(shifted, round);
  Floats r = fma(n, all(-0x1.62e43p-1f), clamped);
  r = fma(n, all(0x1.05c61p-29f), r);
  Floats p = all(1.0f / 5040);
  p = fma(p, r, all(1.0f / 720));
  p = fma(p, r, all(1.0f / 120));
  p = fma(p, r, all(1.0f / 24));
  p = fma(p, r, all(1.0f / 6));
  p = fma(p, r, all(0.5f));
  p = fma(p, r, all(1.0f));
  p = fma(p, r, all(1.0f));
  Ints exponent = sub(bits_of(shifted), bits_of(round));
  Ints half = shift_right<1>(exponent);
  Floats first = floats_of_bits(shift_left<23>(add(half, all(127))));
  Floats second = floats_of_bits(shift_left<23>(add(sub(exponent, half), all(127))));
  return choose(equal(x, x), mul(mul(p, first), second), x);
}

inline Floats clamp(Floats x, Floats low, Floats high) {
  return min(max(x, low), high);
}

// Calls use(function), where function maps a vector as the epilogue's activation does.
template <class Use>
inline void with_activation(const Epilogue& epilogue, const Use& use) {
  Floats a = all(epilogue.args[0]), b = all(epilogue.args[1]), c = all(epilogue.args[2]);
  Floats zero = zeros(), one = all(1.0f);
  switch (epilogue.activation) {
    case Activation::kNone:
      return use([](Floats x) { return x; });
    case Activation::kRelu:
      return use([=](Floats x) { return max(x, zero); });
    case Activation::kRelu6:
      return use([=](Floats x) { return clamp(x, zero, a); });
    case Activation::kHardSwish:
      b = div(one, b);
      return use([=](Floats x) { return mul(mul(x, clamp(add(x, c), zero, a)), b); });
    case Activation::kHardSigmoid:
      return use([=](Floats x) { return clamp(add(mul(a, x), b), zero, one); });
    case Activation::kSwish:
      return use([=](Floats x) { return div(x, add(one, exp_of(mul(sub(all(-0.0f), a), x)))); });
    case Activation::kSigmoid:
      return use([=](Floats x) { return div(one, add(one, exp_of(sub(all(-0.0f), x)))); });
    case Activation::kLeakyRelu:
      return use([=](Floats x) { return choose(greater(x, zero), x, mul(a, x)); });
  }
}

// Calls use(function), where function maps a vector to integers held as floats, as Quantizer::to_int8 does.
// Only quantizers of an abs_max.
template <class Use>
inline void with_quantizer(const Quantizer& q, const Use& use) {
  Floats multiplier = all(q.multiplier), low = all(q.low), high = all(q.high);
  if (!q.away) return use([=](Floats x) { return clamp(round_even(mul(multiplier, x)), low, high); });
  Floats clip = all(q.clip), minus_clip = all(-q.clip), half = all(0x1.fffffep-2f);
  use([=](Floats x) {
    Floats clipped = choose(less(x, minus_clip), minus_clip, choose(greater(x, clip), clip, x));
    Floats scaled = mul(multiplier, clipped);
    return clamp(truncate(add(scaled, copy_sign(half, scaled))), low, high);
  });
}

// Where the rows of a tile of results go: `count` channels each, `stride` elements from row to row. Any
// pointer may be null: then there is no such thing.
struct Target {
  const Epilogue* epilogue;
  const float* residual;
  float* floats;
  std::int8_t* integers;
  std::int64_t stride;
};

// Adds the residual to the values (rows of `columns` floats, `step` apart, with whole vectors of memory
// behind each row's begin), applies the activation function, stores what there is to store.
inline void store_tile(const float* values, std::int64_t step, std::int64_t rows, std::int64_t columns,
                       const Target& target) {
  auto each = [&](auto activation, auto put) {
    for (std::int64_t row = 0; row < rows; ++row) {
      std::int64_t at = row * target.stride, j = 0;
      for (; j < columns; j += kLanes) {
        Floats v = load(values + row * step + j);
        std::int64_t count = columns - j;
        if (target.residual)
          v = add(v, count >= kLanes ? load(target.residual + at + j)
                                     : load_first(target.residual + at + j, count));
        put(activation(v), at + j, count);
      }
    }
  };
  auto put_floats = [&](Floats v, std::int64_t at, std::int64_t count) {
    if (count >= kLanes)
      store(target.floats + at, v);
    else
      store_first(target.floats + at, v, count);
  };
  with_activation(*target.epilogue, [&](auto activation) {
    if (!target.integers) return each(activation, put_floats);
    with_quantizer(target.epilogue->quantizer, [&](auto quantize) {
      each(activation, [&](Floats v, std::int64_t at, std::int64_t count) {
        if (target.floats) put_floats(v, at, count);
        if (count >= kLanes)
          store_int8(target.integers + at, quantize(v));
        else
          store_int8_first(target.integers + at, quantize(v), count);
      });
    });
  });
}

}  // namespace
}  // namespace octet::simd::OCTET_SIMD
