#pragma once
#include <array>
#include <span>
#include <string_view>
#include <vector>

#include "graph/exp.h"
#include "graph/op_table.h"

// The activation functions that an epilogue can have (docs/ops.md, "Epilogues"), one row each. The op of that
// name, its reference kernel and the passes are made of the row; only its vector routine is elsewhere
// (src/kernels/simd/activation.h).
namespace octet {

constexpr std::size_t kMaxActivationArgs = 3;

struct ActivationParam {
  std::string_view name = {};  // of the op's attribute
  double default_value = 0;
};

using ActivationArgs = std::array<float, kMaxActivationArgs>;

struct ActivationFunction {
  std::string_view name;
  std::array<ActivationParam, kMaxActivationArgs> params = {};  // in the order of activation_args
  float (*value)(float x, const ActivationArgs& args) = nullptr;
  // The derivative; at a corner the one that libtorch takes.
  float (*gradient)(float x, const ActivationArgs& args) = nullptr;
  // No value is below this one, which is rounded down a little; -infinity where there is no bound.
  double (*least)(const ActivationArgs& args) = nullptr;

  // As in OpSpec, for the op of this name.
  bool selects = false;
  bool homogeneous = false;
  MixedPrecision precision = MixedPrecision::kEither;

  std::size_t param_count() const;
};

std::span<const ActivationFunction> activation_table();
const ActivationFunction* find_activation(std::string_view name);  // null when an epilogue can't have it

// The arguments of the function, from the attributes of the op of its name, or from the `activation_args` of
// an epilogue (none: the defaults).
ActivationArgs activation_args(const ActivationFunction& function, const Node& node);
ActivationArgs activation_args(const ActivationFunction& function, std::span<const double> given);

// The definitions, to the bit: one rounding for each operation, in the order that is written here. Bounds are
// compared like the CPU's max and min do it (`x > low ? x : low`), so NaN becomes the bound.
inline float clamp_to(float x, float low, float high) {
  float above = x > low ? x : low;
  return above < high ? above : high;
}

inline float relu_of(float x) {
  return x > 0.0f ? x : 0.0f;
}

inline float relu6_of(float x, float threshold) {
  return clamp_to(x, 0.0f, threshold);
}

inline float leaky_relu_of(float x, float alpha) {
  return x > 0.0f ? x : alpha * x;
}

inline float sigmoid_of(float x) {
  return 1.0f / (1.0f + exp_of(-x));
}

inline float hard_sigmoid_of(float x, float slope, float offset) {
  return clamp_to(slope * x + offset, 0.0f, 1.0f);
}

inline float hard_swish_of(float x, float threshold, float scale, float offset) {
  return x * clamp_to(x + offset, 0.0f, threshold) * (1.0f / scale);
}

inline float swish_of(float x, float beta) {
  return x / (1.0f + exp_of(-beta * x));
}

}  // namespace octet
