#pragma once
#include "kernels/simd/activation.h"

// The rest of an epilogue on vectors: the same operations in the same order as kernels/quantizer.h, so the
// same bits.
namespace octet::simd::OCTET_SIMD {
namespace {

// Calls use(function), where function maps a vector to integers held as floats, as Quantizer::to_int8 does.
template <class Use>
inline void with_quantizer(const Quantizer& q, const Use& use) {
  Floats multiplier = all(q.multiplier), low = all(q.low), high = all(q.high);
  if (q.by_step) {
    Floats step = all(q.step), zero = all(q.zero_point), half = all(q.away ? 0x1.fffffep-2f : 0.0f);
    if (!q.away) return use([=](Floats x) { return clamp(add(round_even(div(x, step)), zero), low, high); });
    return use([=](Floats x) {
      Floats scaled = div(x, step);
      return clamp(add(truncate(add(scaled, copy_sign(half, scaled))), zero), low, high);
    });
  }
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
