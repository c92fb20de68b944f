#pragma once
#include "kernels/simd/isa.h"
#include "kernels/simd/store.h"

// From int32 sums to the outputs of an integer convolution or product.
namespace octet::simd::OCTET_SIMD {
namespace {

// The most frequent epilogues, in the fewest instructions: an int8 output, integers or nothing to be added,
// and no activation function but a clamp or hard_swish. As the quantizer is monotone, the bounds of a clamp
// are quantized once and the values are clamped behind it.
struct ByteClamp {
  bool possible = false;       // to do this epilogue so
  bool hard_swish = false;     // which comes first; else the epilogue's function is part of the clamp
  float factor = 0, high = 0;  // what is multiplied with or divided by, and the upper bound then
  std::int8_t low = 0;
  bool by_step = false;
  std::int32_t zero = 0;  // by_step: added to the integers

  explicit ByteClamp(const Int8Target& target) {
    const Epilogue& epilogue = *target.epilogue;
    const Quantizer& q = epilogue.quantizer;
    bool clamps = epilogue.form == Epilogue::Form::kClamp;
    hard_swish = epilogue.form == Epilogue::Form::kHardSwish;
    possible = target.integers && !target.floats && !target.residual && !q.away &&
               (clamps || (hard_swish && !q.by_step) || epilogue.form == Epilogue::Form::kNone);
    if (!possible) return;
    by_step = q.by_step;
    factor = by_step ? q.step : q.multiplier;
    high = q.high;
    low = static_cast<std::int8_t>(q.low);
    if (by_step) {
      possible = factor > 0 && factor < __builtin_inff() && !(clamps && epilogue.high < 0);
      zero = static_cast<std::int32_t>(q.zero_point);
      high -= q.zero_point;
      if (!clamps) return;
      low = static_cast<std::int8_t>(zero);
      // Rounding is monotone, too: what is above the bound need not be rounded with it.
      if (float most = epilogue.high / factor; most < high) high = most;
      return;
    }
    if (!clamps) return;
    low = 0;
    float most = factor * epilogue.high;  // infinite for relu
    possible = factor > 0 && factor < __builtin_inff() && most >= 0;
    if (most < high) high = most;
  }
};

// Rescaled sums to what store_bytes() wants.
struct ClampedInts {
  explicit ClampedInts(const ByteClamp& clamp)
      : multiplier(all(clamp.factor)), high(all(clamp.high)), low(all(static_cast<float>(clamp.low))) {}
  Ints operator()(Floats x) const {
    Floats v = min(high, mul(multiplier, x));
    // On x86 NaN and what is too low for an int32 become the lowest integer by themselves.
    if constexpr (!kLowestForNan) v = max(v, low);
    return round_to_ints(v);
  }
  Floats multiplier, high, low;
};

// The same behind hard_swish.
struct HardSwishInts {
  HardSwishInts(const ByteClamp& clamp, const Epilogue& epilogue)
      : activation(epilogue.args), clamped(clamp) {}
  Ints operator()(Floats x) const { return clamped(activation(x)); }
  HardSwish activation;
  ClampedInts clamped;
};

// The same by a step.
struct SteppedInts {
  explicit SteppedInts(const ByteClamp& clamp)
      : step(all(clamp.factor)),
        high(all(clamp.high)),
        low(all(static_cast<float>(clamp.low - clamp.zero))),
        zero(all(clamp.zero)) {}
  Ints operator()(Floats x) const { return add(round_to_ints(max(min(high, div(x, step)), low)), zero); }
  Floats step, high, low;
  Ints zero;
};

// Calls use(function), where function is one of them; kSteps: of all three.
template <bool kSteps, class Use>
inline void with_clamp(const ByteClamp& clamp, const Epilogue& epilogue, const Use& use) {
  if constexpr (kSteps)
    if (clamp.by_step) return use(SteppedInts(clamp));
  if (clamp.hard_swish)
    use(HardSwishInts(clamp, epilogue));
  else
    use(ClampedInts(clamp));
}

// Where results wait for the epilogue: enough rows that the choice of the activation function costs nothing,
// few enough to stay in the L1 cache.
constexpr std::int64_t kBlockRows = 80;

// Calls use(function), where function maps a vector to what, rounded to integers, is quantized: as
// with_quantizer() does, but the rounding is left to the conversion.
template <class Use>
inline void with_rounding(const Quantizer& q, const Use& use) {
  if (q.away || q.by_step) return with_quantizer(q, use);
  Floats multiplier = all(q.multiplier), low = all(q.low), high = all(q.high);
  use([=](Floats x) { return max(min(high, mul(multiplier, x)), low); });
}

// Rows of sums to rows of bytes, if there are any: value(x, at) makes integers, none below `low`, of a vector
// of rescaled sums, whose place in the target is `at`. Everything is passed by value, so that no store of a
// result can change it.
template <int kVectors, class Value>
inline void finish_rows(const std::int32_t* sums, std::int64_t width, std::int64_t rows,
                        const float* multipliers, const float* biases, std::int8_t* to, std::int64_t stride,
                        std::int8_t low, Value value) {
  Floats multiplier[kVectors], bias[kVectors];
  for (int v = 0; v < kVectors; ++v) multiplier[v] = load(multipliers + v * kLanes);
  for (int v = 0; v < kVectors; ++v) bias[v] = load(biases + v * kLanes);
  std::int64_t at = 0;
  for (std::int64_t r = 0; r < rows; ++r, at += stride, sums += width) {
    Ints integers[kVectors];
    for (int v = 0; v < kVectors; ++v)
      integers[v] = value(fma(to_floats(load(sums + v * kLanes)), multiplier[v], bias[v]), at + v * kLanes);
    if (to) store_bytes<kVectors>(to + at, integers, low);
  }
}

// Rescales sums, applies the epilogue and stores `rows` rows of kVectors whole vectors; `width` sums lie
// between one row and the next.
template <int kVectors>
[[gnu::noinline]] void finish_whole(const std::int32_t* sums, std::int64_t width, std::int64_t rows,
                                    const float* multipliers, const float* biases, const Int8Target& target) {
  std::int8_t* to = target.integers;
  std::int64_t stride = target.stride;
  const ByteClamp clamp(target);
  const float* residual = target.residual;
  const std::int8_t* residual_integers = target.residual_integers;
  const Floats step = all(target.residual_step);
  if (clamp.possible && !residual_integers)
    return with_clamp<true>(clamp, *target.epilogue, [&](auto clamped) {
      finish_rows<kVectors>(sums, width, rows, multipliers, biases, to, stride, clamp.low,
                            [=](Floats x, std::int64_t) { return clamped(x); });
    });
  float* floats = target.floats;
  with_activation(*target.epilogue, [&](auto activation) {
    with_rounding(target.epilogue->quantizer, [&](auto quantize) {
      finish_rows<kVectors>(sums, width, rows, multipliers, biases, to, stride, -128,
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

// The same for fewer channels than a vector has, which vectors would reach beyond: in memory that has room.
inline void finish_rest(const std::int32_t* sums, std::int64_t width, std::int64_t rows,
                        const float* multipliers, const float* biases, std::int64_t columns,
                        const Int8Target& target) {
  alignas(64) float residual[kBlockRows * kLanes] = {}, floats[kBlockRows * kLanes];
  std::int8_t integers[kBlockRows * kLanes], residual_integers[kBlockRows * kLanes] = {};
  auto copy = [&](auto* to, std::int64_t to_stride, const auto* from, std::int64_t from_stride) {
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t c = 0; c < columns; ++c) to[r * to_stride + c] = from[r * from_stride + c];
  };
  Int8Target rest = target;
  rest.stride = kLanes;
  if (target.residual) {
    copy(residual, kLanes, target.residual, target.stride);
    rest.residual = residual;
  }
  if (target.residual_integers) {
    copy(residual_integers, kLanes, target.residual_integers, target.stride);
    rest.residual_integers = residual_integers;
  }
  if (target.floats) rest.floats = floats;
  if (target.integers) rest.integers = integers;
  finish_whole<1>(sums, width, rows, multipliers, biases, rest);
  if (target.floats) copy(target.floats, target.stride, floats, kLanes);
  if (target.integers) copy(target.integers, target.stride, integers, kLanes);
}

// The same target, `elements` further on.
inline Int8Target moved(Int8Target target, std::int64_t elements) {
  if (target.residual) target.residual += elements;
  if (target.residual_integers) target.residual_integers += elements;
  if (target.floats) target.floats += elements;
  if (target.integers) target.integers += elements;
  return target;
}

// Whether rows of so few columns lie side by side that several fill a vector.
inline bool is_narrow(std::int64_t columns, const Int8Target& target) {
  return columns < kLanes && kLanes % columns == 0 && target.stride == columns;
}

// The same for such rows: they become rows of whole vectors, and a rest.
inline void finish_narrow(const std::int32_t* sums, std::int64_t width, std::int64_t rows,
                          const float* multipliers, const float* biases, std::int64_t columns,
                          Int8Target target) {
  alignas(64) std::int32_t dense[kBlockRows * kLanes / 2];
  alignas(64) float multiplier[kLanes], bias[kLanes];
  for (std::int64_t i = 0; i < kLanes; ++i) {
    multiplier[i] = multipliers[i % columns];
    bias[i] = biases[i % columns];
  }
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < columns; ++c) dense[r * columns + c] = sums[r * width + c];
  std::int64_t whole = rows * columns / kLanes, rest = rows * columns % kLanes;
  target.stride = kLanes;
  finish_whole<1>(dense, kLanes, whole, multiplier, bias, target);
  if (rest == 0) return;
  const std::int64_t done = whole * kLanes;
  finish_rest(dense + done, kLanes, 1, multiplier, bias, rest, moved(target, done));
}

// The same for the first `columns` of kVectors vectors of channels and at most kBlockRows rows, which are
// rows of the target from `first` on.
template <int kVectors>
void finish(const std::int32_t* sums, std::int64_t rows, const float* multipliers, const float* biases,
            std::int64_t columns, const Int8Target& target, std::int64_t first) {
  constexpr std::int64_t kWidth = kVectors * kLanes;
  auto part = [&](std::int64_t channel) { return moved(target, first * target.stride + channel); };
  if (is_narrow(columns, target))
    return finish_narrow(sums, kWidth, rows, multipliers, biases, columns, part(0));
  std::int64_t vectors = columns / kLanes, whole = vectors * kLanes;
  if (vectors == kVectors) return finish_whole<kVectors>(sums, kWidth, rows, multipliers, biases, part(0));
  if (vectors == 1) finish_whole<1>(sums, kWidth, rows, multipliers, biases, part(0));
  if (vectors == 2) finish_whole<2>(sums, kWidth, rows, multipliers, biases, part(0));
  if (vectors == 3) finish_whole<3>(sums, kWidth, rows, multipliers, biases, part(0));
  if (whole < columns)
    finish_rest(sums + whole, kWidth, rows, multipliers + whole, biases + whole, columns - whole,
                part(whole));
}

}  // namespace
}  // namespace octet::simd::OCTET_SIMD
