#include "train/quantized_ops.h"

#include <algorithm>

#include "graph/ops/quantization.h"
#include "graph/quantization.h"

// docs/ops.md says what these compute. Each operation is rounded to float32, in the order of the reference
// kernels, so that the integers are the same on every device.
namespace octet::train {

namespace {

// One number a channel, in a shape that spreads along `axis` of x; axis -1: one for all.
at::Tensor spread(const at::Tensor& numbers, std::int64_t axis, const at::Tensor& x) {
  const at::Tensor flat = numbers.to(x.device(), at::kFloat).reshape({-1});
  if (axis == -1) return flat.narrow(0, 0, 1).reshape({});
  std::vector<std::int64_t> shape(static_cast<std::size_t>(x.dim()), 1);
  shape[static_cast<std::size_t>(axis)] = x.size(axis);
  return flat.narrow(0, 0, x.size(axis)).view(shape);
}

at::Tensor spread_scale(const Call& call) {
  return spread(call.inputs[1], attr<std::int64_t>(call.node, "axis"), call.x());
}

float bound_of(const Node& node, const char* bits = "bits") {
  return static_cast<float>(levels_of(attr<int>(node, bits)));
}

bool rounds_away(const Node& node) {
  return attr<std::string>(node, "rounding") == "away";
}

at::Tensor round_away(const at::Tensor& x) {
  return at::trunc(x + at::copysign(at::full({}, 0x1.fffffep-2f, x.options()), x));
}

at::Tensor inverse_of(const at::Tensor& scale) {
  return at::where(scale <= 1e-30f, 1.0f / (scale + 1e-6f), 1.0f / scale);
}

// To integers that are held as floats.
at::Tensor to_integers(const Node& node, const at::Tensor& x, const at::Tensor& abs_max) {
  const float high = bound_of(node);
  const at::Tensor multiplier = high * inverse_of(abs_max);
  if (!rounds_away(node)) return at::round(multiplier * x).clamp(-high - 1, high);
  return round_away(multiplier * at::minimum(at::maximum(x, -abs_max), abs_max));
}

at::Tensor to_integers_by_step(const Call& call, const at::Tensor& step) {
  const at::Tensor scaled = call.x() / step;
  at::Tensor y = rounds_away(call.node) ? round_away(scaled) : at::round(scaled);
  if (const at::Tensor* zero = call.optional(2))
    y = y + spread(*zero, attr<std::int64_t>(call.node, "axis"), y);
  const float high = bound_of(call.node);
  return y.clamp(-high - 1, high);
}

std::vector<at::Tensor> quantize(const Call& call) {
  const at::Tensor scale = spread_scale(call);
  const at::Tensor y = attr<std::string>(call.node, "unit") == "step"
                           ? to_integers_by_step(call, scale)
                           : to_integers(call.node, call.x(), scale);
  if (attr<std::string>(call.node, "dtype") != "int8") return {y};
  return {at::nan_to_num(y, -bound_of(call.node) - 1).to(at::kChar)};
}

std::vector<at::Tensor> dequantize(const Call& call) {
  const at::Tensor x = call.x().to(at::kFloat), scale = spread_scale(call);
  if (attr<std::string>(call.node, "unit") != "step") return {x * scale / bound_of(call.node)};
  const at::Tensor* zero = call.optional(2);
  return {zero ? (x - spread(*zero, attr<std::int64_t>(call.node, "axis"), x)) * scale : x * scale};
}

std::vector<at::Tensor> fake_quant(const Call& call) {
  const at::Tensor scale = spread_scale(call);
  return {to_integers(call.node, call.x(), scale) * scale / bound_of(call.node)};
}

// The largest magnitude of each channel; NaN is passed over.
at::Tensor measure(const Call& call) {
  const std::int64_t axis = attr<std::int64_t>(call.node, "axis");
  const at::Tensor magnitudes = at::nan_to_num(call.x().abs(), 0.0, INFINITY);
  if (axis == -1) return magnitudes.max().reshape({1});
  return magnitudes.transpose(0, axis).flatten(1).amax(1);
}

// Both give the scale that they measured, too.
std::vector<at::Tensor> dynamic_quantize(const Call& call) {
  const at::Tensor abs_max = measure(call);
  const at::Tensor scale = spread(abs_max, attr<std::int64_t>(call.node, "axis"), call.x());
  return {to_integers(call.node, call.x(), scale), abs_max};
}

std::vector<at::Tensor> dynamic_fake_quant(const Call& call) {
  const at::Tensor abs_max = measure(call);
  const at::Tensor scale = spread(abs_max, attr<std::int64_t>(call.node, "axis"), call.x());
  return {to_integers(call.node, call.x(), scale) * scale / bound_of(call.node), abs_max};
}

std::vector<at::Tensor> dequantize_sum(const Call& call) {
  const at::Tensor* x_scale = call.optional(2);
  const at::Tensor& x = call.x();
  const std::int64_t axis = ops::dequantize_sum_axis(call.node, x.sizes().vec(), x_scale != nullptr);
  const at::Tensor scaled = x * spread(call.inputs[1], axis, x);
  const float bound = bound_of(call.node);
  if (!x_scale) return {scaled / bound};
  const double bounds = static_cast<double>(bound) * bound_of(call.node, "x_bits");
  return {scaled * spread(*x_scale, -1, x) / static_cast<float>(bounds)};
}

std::vector<at::Tensor> dequantize_range(const Call& call) {
  return {call.x() * spread(call.inputs[1], -1, call.x()) / attr<float>(call.node, "range")};
}

struct Row {
  std::string_view op;
  Operation operation;
};
constexpr Row kOperations[] = {
    {"quantize", quantize},
    {"dequantize", dequantize},
    {"fake_quant", fake_quant},
    {"dynamic_quantize", dynamic_quantize},
    {"dynamic_fake_quant", dynamic_fake_quant},
    {"dequantize_sum", dequantize_sum},
    {"dequantize_range", dequantize_range},
};

}  // namespace

Operation find_quantization(std::string_view op) {
  const auto* row = std::ranges::find(kOperations, op, &Row::op);
  return row == std::end(kOperations) ? nullptr : row->operation;
}

}  // namespace octet::train
