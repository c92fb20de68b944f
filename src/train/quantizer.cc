#include "train/quantizer.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "train/convolution.h"

namespace octet::train {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// The integers of x in a range, as the deployed model computes them (docs/ops.md, quantize), and what they
// stand for.
struct Quantized {
  at::Tensor values;    // float
  at::Tensor integers;  // int8
  at::Tensor clipped;   // bool, where |x| > bound; not defined: nowhere
};

struct Numbers {
  float multiplier, low, high, range, levels, bound;
};

// Compiled for the vectors of newer CPUs as well; adding and subtracting 1.5 * 2^23 rounds half to even.
__attribute__((target_clones("avx512f", "avx2", "default"))) std::int64_t quantize_run(
    const float* x, float* values, std::int8_t* integers, bool* clipped, std::int64_t count, Numbers n) {
  constexpr float kRound = 12582912.0f;
  std::int32_t over = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    float v = x[i] * n.multiplier;
    v = v < n.low ? n.low : v;
    v = v > n.high ? n.high : v;
    const float q = (v + kRound) - kRound;
    values[i] = q * n.range / n.levels;
    integers[i] = static_cast<std::int8_t>(static_cast<std::int32_t>(q));
    const bool is_over = x[i] > n.bound || x[i] < -n.bound;
    clipped[i] = is_over;
    over += is_over;
  }
  return over;
}

Quantized quantize(const at::Tensor& x, float range, float levels, float bound) {
  const Numbers n{levels * (1 / range), -levels - 1, levels, range, levels, bound};
  if (!x.is_cpu() || !x.is_non_overlapping_and_dense() || x.scalar_type() != at::kFloat) {
    const at::Tensor q = at::clamp(at::round(x.to(at::kFloat) * n.multiplier), n.low, n.high);
    return {q * n.range / n.levels, q.to(at::kChar), x.abs() > bound};
  }
  Quantized result{at::empty_like(x), at::empty_like(x, at::kChar), at::empty_like(x, at::kBool)};
  const float* from = x.const_data_ptr<float>();
  float* values = result.values.data_ptr<float>();
  auto* integers = result.integers.data_ptr<std::int8_t>();
  bool* clipped = result.clipped.data_ptr<bool>();
  std::atomic<std::int64_t> over = 0;
  constexpr std::int64_t kGrain = 1 << 14;
  at::parallel_for(0, x.numel(), kGrain, [&](std::int64_t begin, std::int64_t end) {
    over += quantize_run(from + begin, values + begin, integers + begin, clipped + begin, end - begin, n);
  });
  if (over == 0) result.clipped.reset();
  return result;
}

// Convolution: stride, padding, dilation (height, width each), groups. A product of matrices has none.
using Geometry = std::vector<std::int64_t>;

at::Tensor run_layer(const at::Tensor& x, const at::Tensor& weight, const std::optional<at::Tensor>& bias,
                     const Geometry& g) {
  if (g.empty()) return bias ? at::addmm(*bias, x, weight) : at::mm(x, weight);
  return at::conv2d(x, weight, bias, {g[0], g[1]}, {g[2], g[3]}, {g[4], g[5]}, g[6]);
}

ConvGradients run_layer_backward(const at::Tensor& gradient, const at::Tensor& x, const at::Tensor& weight,
                                 bool has_bias, const Geometry& g) {
  if (g.empty())
    return {at::mm(gradient, weight.t()), at::mm(x.t(), gradient), has_bias ? gradient.sum(0) : at::Tensor()};
  return convolution_backward(gradient, x, weight, has_bias,
                              {{g[0], g[1]}, {g[2], g[3]}, {g[4], g[5]}, g[6]});
}

// What of the gradient of the quantized input reaches the input, and what the learned range.
std::pair<at::Tensor, at::Tensor> through_quantizer(at::Tensor gradient, const at::Tensor& integers,
                                                    const at::Tensor& clipped, const at::Tensor& x,
                                                    float range, float levels, bool lsq) {
  at::Tensor learned;
  if (lsq) {
    const at::Tensor v = x * (levels / range);
    const at::Tensor inside = v.abs() <= levels;
    const at::Tensor slope = at::where(inside, (integers.to(at::kFloat) - v) / levels, x.sign());
    const double weight = 1 / std::sqrt(static_cast<double>(x.numel()) * static_cast<double>(levels));
    learned = ((gradient * slope).sum() * weight).reshape({1});
    return {gradient * inside, learned};
  }
  if (!clipped.defined()) return {gradient, at::zeros({1}, gradient.options())};
  learned = (gradient * integers.sign().to(at::kFloat) * clipped).sum().reshape({1});
  return {gradient.masked_fill(clipped, 0), learned};
}

struct QuantizedLayer : torch::autograd::Function<QuantizedLayer> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x,
                            const std::optional<at::Tensor>& learned, const at::Tensor& weight,
                            const std::optional<at::Tensor>& bias, double range, double levels, bool lsq,
                            double bound, const Geometry& geometry, std::int64_t low_dtype, bool rounded) {
    const auto r = static_cast<float>(range), l = static_cast<float>(levels);
    Quantized q = quantize(x, r, l, static_cast<float>(bound));
    const auto lower_it = [&](const at::Tensor& t) {
      if (low_dtype < 0) return t;
      const auto type = static_cast<at::ScalarType>(low_dtype);
      return rounded ? rounded_to(t, type) : t.to(type);
    };
    const at::Tensor low_weight = lower_it(weight);
    const std::optional<at::Tensor> low_bias = bias ? std::optional(lower_it(*bias)) : std::nullopt;
    at::Tensor out = run_layer(lower_it(q.values), low_weight, low_bias, geometry);
    context->save_for_backward({q.integers, q.clipped, lsq ? x : at::Tensor(), low_weight});
    context->saved_data["range"] = range;
    context->saved_data["levels"] = levels;
    context->saved_data["lsq"] = lsq;
    context->saved_data["has_bias"] = bias.has_value();
    context->saved_data["has_learned"] = learned.has_value();
    context->saved_data["geometry"] = geometry;
    return low_dtype >= 0 && rounded ? rounded_to(out, static_cast<at::ScalarType>(low_dtype)) : out;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor &integers = saved[0], &clipped = saved[1], &x = saved[2], &weight = saved[3];
    const auto range = static_cast<float>(context->saved_data["range"].toDouble()),
               levels = static_cast<float>(context->saved_data["levels"].toDouble());
    const bool has_bias = context->saved_data["has_bias"].toBool(), lsq = context->saved_data["lsq"].toBool();
    const at::Tensor values = (integers.to(at::kFloat) * (range / levels)).to(weight.scalar_type());
    ConvGradients g = run_layer_backward(gradients[0].to(weight.scalar_type()), values, weight, has_bias,
                                         context->saved_data["geometry"].toIntVector());
    auto [gx, learned] = through_quantizer(g.x.to(at::kFloat), integers, clipped, x, range, levels, lsq);
    if (!context->saved_data["has_learned"].toBool()) learned = at::Tensor();
    if (has_bias) g.bias = g.bias.to(at::kFloat);
    return {gx, learned, g.weight.to(at::kFloat), g.bias, {}, {}, {}, {}, {}, {}, {}};
  }
};

struct FakeQuantize : torch::autograd::Function<FakeQuantize> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x,
                            const std::optional<at::Tensor>& learned, double range, double levels, bool lsq,
                            double bound) {
    Quantized q =
        quantize(x, static_cast<float>(range), static_cast<float>(levels), static_cast<float>(bound));
    context->save_for_backward({q.integers, q.clipped, lsq ? x : at::Tensor()});
    context->saved_data["range"] = range;
    context->saved_data["levels"] = levels;
    context->saved_data["lsq"] = lsq;
    context->saved_data["has_learned"] = learned.has_value();
    return q.values;
  }
  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const variable_list saved = context->get_saved_variables();
    auto [gx, learned] = through_quantizer(gradients[0], saved[0], saved[1], saved[2],
                                           static_cast<float>(context->saved_data["range"].toDouble()),
                                           static_cast<float>(context->saved_data["levels"].toDouble()),
                                           context->saved_data["lsq"].toBool());
    if (!context->saved_data["has_learned"].toBool()) learned = at::Tensor();
    return {gx, learned, {}, {}, {}, {}};
  }
};

// Weights as their integers stand for them. `abs_max` broadcasts over the weights; LSQ learns it.
struct QuantizedWeights : torch::autograd::Function<QuantizedWeights> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& weight, const at::Tensor& abs_max,
                            double levels, bool lsq) {
    context->save_for_backward({lsq ? weight : at::Tensor(), lsq ? abs_max : at::Tensor()});
    context->saved_data["levels"] = levels;
    context->saved_data["lsq"] = lsq;
    return at::clamp(at::round(weight / abs_max * levels), -levels, levels) * abs_max / levels;
  }
  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const at::Tensor& gradient = gradients[0];
    if (!context->saved_data["lsq"].toBool()) return {gradient, {}, {}, {}};
    const variable_list saved = context->get_saved_variables();
    const at::Tensor &weight = saved[0], &abs_max = saved[1];
    const double levels = context->saved_data["levels"].toDouble();
    const at::Tensor v = weight / abs_max * levels;
    const at::Tensor inside = v.abs() <= levels;
    const at::Tensor slope = at::where(inside, (at::round(v) - v) / levels, v.sign());
    const double each = static_cast<double>(weight.numel()) / static_cast<double>(abs_max.numel());
    const at::Tensor learned = (gradient * slope).sum_to_size(abs_max.sizes()) / std::sqrt(each * levels);
    return {gradient * inside, learned, {}, {}};
  }
};

std::optional<at::Tensor> optional(const at::Tensor& tensor) {
  return tensor.defined() ? std::optional(tensor) : std::nullopt;
}

// Where the gradient of the input ends: PACT's alpha; without one nothing is clipped.
double bound_of(const InputQuantizer& quantizer) {
  if (quantizer.kind != Activation::kPact) return std::numeric_limits<float>::infinity();
  return std::max(quantizer.learned.item<float>(), kSmallestRange);
}

}  // namespace

float InputQuantizer::range() const {
  const float average = scale.item<float>();
  if (kind == Activation::kMovingAverage) return std::max(average, kSmallestRange);
  const float value = learned.item<float>();
  return std::max(kind == Activation::kPact ? std::min(value, average) : value, kSmallestRange);
}

void InputQuantizer::observe(const at::Tensor& x) {
  const at::NoGradGuard no_gradients;
  if (kind == Activation::kPact) learned.clamp_min_(kSmallestRange);  // a step may have gone below 0
  auto [low, high] = at::aminmax(x.detach());
  float largest = std::max(std::fabs(low.item<float>()), std::fabs(high.item<float>()));
  if (kind == Activation::kPact) largest = std::min(largest, learned.item<float>());
  const auto rate = static_cast<float>(moving_rate);
  state.fill_(rate * state.item<float>() + 1);
  accum.fill_(rate * accum.item<float>() + largest);
  scale.fill_(accum.item<float>() / state.item<float>());
}

at::Tensor WeightQuantizer::abs_max(const at::Tensor& w) const {
  if (kind == WeightScale::kLsq) return learned.clamp_min(kSmallestRange);
  const at::Tensor magnitudes = w.detach().abs();
  if (kind == WeightScale::kAbsMax) return magnitudes.amax().reshape({1}).clamp_min(1e-8);
  std::vector<std::int64_t> dims;
  for (std::int64_t i = 0; i < w.dim(); ++i)
    if (i != axis) dims.push_back(i);
  return magnitudes.amax(dims).clamp_min(1e-8);
}

at::Tensor WeightQuantizer::quantized(const at::Tensor& w) const {
  at::Tensor range = abs_max(w);
  if (range.numel() > 1) {
    std::vector<std::int64_t> shape(static_cast<std::size_t>(w.dim()), 1);
    shape[static_cast<std::size_t>(axis)] = -1;
    range = range.view(shape);
  }
  return QuantizedWeights::apply(w, range, static_cast<double>(levels()), kind == WeightScale::kLsq);
}

at::Tensor fake_quantize(const at::Tensor& x, const InputQuantizer& quantizer) {
  return FakeQuantize::apply(x, optional(quantizer.learned), static_cast<double>(quantizer.range()),
                             static_cast<double>(quantizer.levels()), quantizer.kind == Activation::kLsq,
                             bound_of(quantizer));
}

at::Tensor quantized_layer(const Node& node, const LayerQuantizer& quantizer, const at::Tensor& input,
                           const at::Tensor& weight, const at::Tensor* bias, bool training,
                           const Precision& precision) {
  at::Tensor x = input.to(at::kFloat);
  if (training) quantizer.input->observe(x);
  at::Tensor w = quantizer.weight.quantized(weight);
  Geometry geometry;
  std::vector<std::int64_t> shape;  // of the result, where x is made a matrix
  if (node.op == "conv2d") {
    const auto [stride, padding, dilation, groups] = conv_geometry(node, x, w);
    geometry = {stride[0], stride[1], padding[0], padding[1], dilation[0], dilation[1], groups};
  } else {
    const bool flat = node.op == "matmul_flat";
    const std::int64_t columns = flat ? attr<std::int64_t>(node, "x_num_col_dims") : x.dim() - 1;
    if (!flat && attr<bool>(node, "transpose_y")) w = w.t();
    shape.assign(x.sizes().begin(), x.sizes().begin() + columns);
    shape.push_back(w.size(1));
    x = x.reshape({-1, w.size(0)});
    if (!flat && attr<double>(node, "alpha") != 1.0) w = w * attr<double>(node, "alpha");
  }
  const InputQuantizer& in = *quantizer.input;
  const at::Tensor out = QuantizedLayer::apply(
      x, optional(in.learned), w, bias ? std::optional(*bias) : std::nullopt, static_cast<double>(in.range()),
      static_cast<double>(in.levels()), in.kind == Activation::kLsq, bound_of(in), geometry,
      precision.level == Amp::kOff ? std::int64_t{-1} : static_cast<std::int64_t>(precision.dtype),
      precision.rounded);
  return shape.empty() ? out : out.reshape(shape);
}

}  // namespace octet::train
