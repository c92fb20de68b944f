#include "train/fake_quant.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

#include "base/error.h"
#include "train/convolution.h"

namespace octet::train {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Whether the loops below can walk through a tensor as it lies in memory.
bool is_plain(const at::Tensor& x) {
  return x.is_cpu() && x.is_non_overlapping_and_dense() && x.scalar_type() == at::kFloat;
}

// Combines what `run(begin, end)` gives for blocks of `count` elements, in their order, so that the result
// does not depend on the number of threads.
template <class Run, class Combine>
double over_blocks(std::int64_t count, const Run& run, const Combine& combine) {
  constexpr std::int64_t kBlock = 1 << 14;
  const std::int64_t blocks = (count + kBlock - 1) / kBlock;
  std::vector<double> parts(static_cast<std::size_t>(blocks));
  at::parallel_for(0, blocks, 1, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t block = first; block < last; ++block)
      parts[static_cast<std::size_t>(block)] = run(block * kBlock, std::min(count, (block + 1) * kBlock));
  });
  return std::accumulate(parts.begin(), parts.end(), 0.0, combine);
}

double largest_of(double a, double b) {
  return std::max(a, b);
}

// Compiled for the vectors of newer CPUs as well.
#define OCTET_FOR_VECTORS __attribute__((target_clones("avx512f", "avx2", "default")))

// Magnitudes are in the order of their bits, and a maximum of integers is one that compilers vectorise.
OCTET_FOR_VECTORS float largest_run(const float* x, std::int64_t count) {
  std::uint32_t largest = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::uint32_t magnitude = std::bit_cast<std::uint32_t>(x[i]) & 0x7fffffffu;
    largest = magnitude > largest ? magnitude : largest;
  }
  return std::bit_cast<float>(largest);
}

float largest_magnitude(const at::Tensor& x) {
  if (!is_plain(x)) return x.abs().amax().item<float>();
  const float* data = x.const_data_ptr<float>();
  const auto run = [&](std::int64_t begin, std::int64_t end) {
    return largest_run(data + begin, end - begin);
  };
  return static_cast<float>(over_blocks(x.numel(), run, largest_of));
}

// The integers of x in a range, as the deployed model computes them (docs/ops.md, quantize), and what they
// stand for.
struct Quantized {
  at::Tensor values;    // float
  at::Tensor integers;  // int8
  at::Tensor clipped;   // uint8, 1 where |x| > bound; not defined: nowhere
};

struct Numbers {
  float multiplier, low, high, range, levels;
};

// Adding and subtracting 1.5 * 2^23 rounds half to even.
OCTET_FOR_VECTORS void quantize_run(const float* __restrict x, float* __restrict values,
                                    std::int8_t* __restrict integers, std::int64_t count, Numbers n) {
  constexpr float kRound = 12582912.0f;
  for (std::int64_t i = 0; i < count; ++i) {
    float v = x[i] * n.multiplier;
    v = v < n.low ? n.low : v;
    v = v > n.high ? n.high : v;
    const float q = (v + kRound) - kRound;
    values[i] = q * n.range / n.levels;
    integers[i] = static_cast<std::int8_t>(static_cast<std::int32_t>(q));
  }
}

OCTET_FOR_VECTORS void mark_clipped(const float* __restrict x, std::uint8_t* __restrict clipped,
                                    std::int64_t count, float bound) {
  for (std::int64_t i = 0; i < count; ++i) clipped[i] = std::fabs(x[i]) > bound ? 1 : 0;
}

constexpr std::int64_t kGrain = 1 << 14;

Quantized quantize(const at::Tensor& x, float range, float levels, float bound) {
  const Numbers n{levels * (1 / range), -levels - 1, levels, range, levels};
  if (!is_plain(x)) {
    const at::Tensor q = at::clamp(at::round(x.to(at::kFloat) * n.multiplier), n.low, n.high);
    return {q * n.range / n.levels, q.to(at::kChar), (x.abs() > bound).to(at::kByte)};
  }
  Quantized result{at::empty_like(x), at::empty_like(x, at::kChar), {}};
  const float* from = x.const_data_ptr<float>();
  float* values = result.values.data_ptr<float>();
  auto* integers = result.integers.data_ptr<std::int8_t>();
  at::parallel_for(0, x.numel(), kGrain, [&](std::int64_t begin, std::int64_t end) {
    quantize_run(from + begin, values + begin, integers + begin, end - begin, n);
  });
  if (std::isfinite(bound)) {
    result.clipped = at::empty_like(x, at::kByte);
    auto* clipped = result.clipped.data_ptr<std::uint8_t>();
    at::parallel_for(0, x.numel(), kGrain, [&](std::int64_t begin, std::int64_t end) {
      mark_clipped(from + begin, clipped + begin, end - begin, bound);
    });
  }
  return result;
}

// What integers stand for, up to the last bit of a float.
OCTET_FOR_VECTORS void dequantize_run(const std::int8_t* __restrict integers, float* __restrict values,
                                      std::int64_t count, float step) {
  for (std::int64_t i = 0; i < count; ++i) values[i] = static_cast<float>(integers[i]) * step;
}

at::Tensor dequantize(const at::Tensor& integers, float step) {
  if (!integers.is_cpu()) return integers.to(at::kFloat) * step;
  at::Tensor values = at::empty_like(integers, at::kFloat);
  const auto* from = integers.const_data_ptr<std::int8_t>();
  float* to = values.data_ptr<float>();
  at::parallel_for(0, integers.numel(), kGrain, [&](std::int64_t begin, std::int64_t end) {
    dequantize_run(from + begin, to + begin, end - begin, step);
  });
  return values;
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

// What of the gradient of the quantized input reaches the input, in place, and what the learned range: the
// sums of fake_quant.h, PACT's and LSQ's.
constexpr std::int64_t kLanes = 16;  // sums that run side by side

OCTET_FOR_VECTORS float clip_gradient_run(float* __restrict gradient, const std::int8_t* __restrict integers,
                                          const std::uint8_t* __restrict clipped, std::int64_t count) {
  float sums[kLanes] = {};
  std::int64_t i = 0;
  const auto step = [&](float& sum) {
    const float lost = gradient[i] * static_cast<float>(clipped[i]);
    sum += lost * static_cast<float>(integers[i] > 0 ? 1 : -1);
    gradient[i] -= lost;
    ++i;
  };
  while (i + kLanes <= count)
    for (float& sum : sums) step(sum);
  while (i < count) step(sums[0]);
  return std::accumulate(std::begin(sums), std::end(sums), 0.0f);
}

OCTET_FOR_VECTORS float lsq_gradient_run(float* __restrict gradient, const float* __restrict x,
                                         const std::int8_t* __restrict integers, std::int64_t count,
                                         float multiplier, float levels) {
  float sums[kLanes] = {};
  std::int64_t i = 0;
  const auto step = [&](float& sum) {
    const float v = x[i] * multiplier;
    const bool is_inside = std::fabs(v) <= levels;
    const float side = x[i] > 0 ? 1.0f : -1.0f;
    const float slope = is_inside ? (static_cast<float>(integers[i]) - v) / levels : side;
    sum += gradient[i] * slope;
    gradient[i] = is_inside ? gradient[i] : 0.0f;
    ++i;
  };
  while (i + kLanes <= count)
    for (float& sum : sums) step(sum);
  while (i < count) step(sums[0]);
  return std::accumulate(std::begin(sums), std::end(sums), 0.0f);
}

// How an input was quantized, for the way back.
struct Quantization {
  double range = 0, levels = 0;
  bool lsq = false;
};

// `clipped` is for PACT, not defined: nothing is; `x` for LSQ.
std::pair<at::Tensor, at::Tensor> through_quantizer(at::Tensor gradient, const at::Tensor& integers,
                                                    const at::Tensor& clipped, const at::Tensor& x,
                                                    const Quantization& how) {
  if (!how.lsq && !clipped.defined()) return {gradient, at::zeros({1}, gradient.options())};
  const auto levels = static_cast<float>(how.levels), multiplier = static_cast<float>(how.levels / how.range);
  const double weight = how.lsq ? 1 / std::sqrt(static_cast<double>(integers.numel()) * how.levels)
                                : 1;  // of the learned range
  if (!is_plain(gradient)) {
    const at::Tensor v = how.lsq ? x * multiplier : at::Tensor();
    const at::Tensor inside = how.lsq ? v.abs() <= levels : clipped.logical_not();
    const at::Tensor q = integers.to(at::kFloat);
    const at::Tensor slope = at::where(inside, how.lsq ? (q - v) / levels : at::zeros_like(q), q.sign());
    return {gradient * inside, ((gradient * slope).sum() * weight).reshape({1})};
  }
  if (gradient.strides() != integers.strides())
    gradient = at::empty_like(integers, at::kFloat).copy_(gradient);
  float* g = gradient.data_ptr<float>();
  const auto* q = integers.const_data_ptr<std::int8_t>();
  const float* data = how.lsq ? x.const_data_ptr<float>() : nullptr;
  const std::uint8_t* mask = how.lsq ? nullptr : clipped.const_data_ptr<std::uint8_t>();
  const auto run = [&](std::int64_t begin, std::int64_t end) {
    return how.lsq ? lsq_gradient_run(g + begin, data + begin, q + begin, end - begin, multiplier, levels)
                   : clip_gradient_run(g + begin, q + begin, mask + begin, end - begin);
  };
  const double sum = over_blocks(gradient.numel(), run, std::plus<>());
  return {gradient, at::full({1}, sum * weight, gradient.options())};
}

void save(AutogradContext* context, const Quantization& how, bool has_learned) {
  context->saved_data["range"] = how.range;
  context->saved_data["levels"] = how.levels;
  context->saved_data["lsq"] = how.lsq;
  context->saved_data["has_learned"] = has_learned;
}

Quantization saved_in(AutogradContext* context) {
  return {context->saved_data["range"].toDouble(), context->saved_data["levels"].toDouble(),
          context->saved_data["lsq"].toBool()};
}

struct QuantizedLayer : torch::autograd::Function<QuantizedLayer> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x,
                            const std::optional<at::Tensor>& learned, const at::Tensor& weight,
                            const std::optional<at::Tensor>& bias, double range, double levels, bool lsq,
                            double bound, const Geometry& geometry, std::int64_t low_dtype, bool rounded) {
    Quantized q =
        quantize(x, static_cast<float>(range), static_cast<float>(levels), static_cast<float>(bound));
    const auto lower_it = [&](const at::Tensor& t) {
      if (low_dtype < 0) return t;
      const auto type = static_cast<at::ScalarType>(low_dtype);
      return rounded ? rounded_to(t, type) : t.to(type);
    };
    const at::Tensor low_weight = lower_it(weight);
    const std::optional<at::Tensor> low_bias = bias ? std::optional(lower_it(*bias)) : std::nullopt;
    at::Tensor out = run_layer(lower_it(q.values), low_weight, low_bias, geometry);
    context->save_for_backward({q.integers, q.clipped, lsq ? x : at::Tensor(), low_weight});
    save(context, {range, levels, lsq}, learned.has_value());
    context->saved_data["has_bias"] = bias.has_value();
    context->saved_data["geometry"] = geometry;
    return low_dtype >= 0 && rounded ? rounded_to(out, static_cast<at::ScalarType>(low_dtype)) : out;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor &integers = saved[0], &clipped = saved[1], &x = saved[2], &weight = saved[3];
    const Quantization how = saved_in(context);
    const bool has_bias = context->saved_data["has_bias"].toBool();
    const at::Tensor values =
        dequantize(integers, static_cast<float>(how.range / how.levels)).to(weight.scalar_type());
    ConvGradients g = run_layer_backward(gradients[0].to(weight.scalar_type()), values, weight, has_bias,
                                         context->saved_data["geometry"].toIntVector());
    auto [gx, learned] = through_quantizer(g.x.to(at::kFloat), integers, clipped, x, how);
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
    save(context, {range, levels, lsq}, learned.has_value());
    return q.values;
  }
  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const variable_list saved = context->get_saved_variables();
    // The gradient is changed in place, and this one belongs to others.
    auto [gx, learned] =
        through_quantizer(gradients[0].clone(), saved[0], saved[1], saved[2], saved_in(context));
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

const char* method_of(Activation kind) {
  return kind == Activation::kPact ? "pact" : kind == Activation::kLsq ? "lsq" : "moving_average";
}

InputQuantizer input_quantizer(const Node& fake_quant, std::span<const at::Tensor> inputs) {
  InputQuantizer quantizer{.bits = attr<int>(fake_quant, "bits"),
                           .moving_rate = attr<double>(fake_quant, "moving_rate")};
  const auto method = attr<std::string>(fake_quant, "method");
  for (const Activation kind : {Activation::kMovingAverage, Activation::kPact, Activation::kLsq})
    if (method == method_of(kind)) quantizer.kind = kind;
  if (quantizer.kind == Activation::kLsq) {
    quantizer.learned = inputs[1];
    return quantizer;
  }
  quantizer.scale = inputs[1];
  quantizer.learned = inputs[2];
  quantizer.state = inputs[3];
  quantizer.accum = inputs[4];
  return quantizer;
}

WeightQuantizer weight_quantizer(const Node& fake_quant, std::span<const at::Tensor> inputs) {
  WeightQuantizer quantizer{.bits = attr<int>(fake_quant, "bits"),
                            .axis = attr<std::int64_t>(fake_quant, "axis")};
  if (attr<std::string>(fake_quant, "method") == "lsq") {
    quantizer.kind = WeightScale::kLsq;
    quantizer.learned = inputs[1];
  } else if (quantizer.axis < 0) {
    quantizer.kind = WeightScale::kAbsMax;
  }
  return quantizer;
}

float InputQuantizer::range() const {
  const float value = (kind == Activation::kMovingAverage ? scale : learned).item<float>();
  return std::max(kind == Activation::kPact ? std::min(value, scale.item<float>()) : value, kSmallestRange);
}

float InputQuantizer::observe(const at::Tensor& x) const {
  const at::NoGradGuard no_gradients;
  if (kind == Activation::kPact) learned.clamp_min_(kSmallestRange);  // a step may have gone below 0
  if (kind == Activation::kLsq) return std::numeric_limits<float>::infinity();  // nothing looks at it
  const float largest = largest_magnitude(x.detach());
  const float kept = kind == Activation::kPact ? std::min(largest, learned.item<float>()) : largest;
  const auto rate = static_cast<float>(moving_rate);
  state.fill_(rate * state.item<float>() + 1);
  accum.fill_(rate * accum.item<float>() + kept);
  scale.fill_(accum.item<float>() / state.item<float>());
  return largest;
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

std::vector<at::Tensor> trained_fake_quant(const Call& call) {
  const bool is_weight =
      attr<std::string>(call.node, "method") == "abs_max" || attr<std::int64_t>(call.node, "axis") >= 0;
  if (is_weight) return {weight_quantizer(call.node, call.inputs).quantized(call.x())};
  const InputQuantizer quantizer = input_quantizer(call.node, call.inputs);
  if (call.training) quantizer.observe(call.x());
  return {fake_quantize(call.x(), quantizer)};
}

at::Tensor quantized_layer(const Node& node, const LayerQuantizer& quantizer, const at::Tensor& input,
                           const at::Tensor& weight, const at::Tensor* bias, bool training,
                           const Precision& precision) {
  at::Tensor x = input.to(at::kFloat);
  const float largest = training ? quantizer.input.observe(x) : std::numeric_limits<float>::infinity();
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
  const InputQuantizer& in = quantizer.input;
  const double clip = bound_of(in), bound = largest > clip ? clip : std::numeric_limits<float>::infinity();
  const at::Tensor out = QuantizedLayer::apply(
      x, optional(in.learned), w, bias ? std::optional(*bias) : std::nullopt, static_cast<double>(in.range()),
      static_cast<double>(in.levels()), in.kind == Activation::kLsq, bound, geometry,
      precision.level == Amp::kOff ? std::int64_t{-1} : static_cast<std::int64_t>(precision.dtype),
      precision.rounded);
  return shape.empty() ? out : out.reshape(shape);
}

}  // namespace octet::train
