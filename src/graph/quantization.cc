#include "graph/quantization.h"

#include "graph/op_table.h"

namespace octet {

namespace {

// What the attributes say.
Quantization described_by(const Node& node) {
  Quantization result;
  result.bits = attr<int>(node, "bits");
  if (node.op != "dequantize" && attr<std::string>(node, "rounding") == "away")
    result.rounding = Rounding::kAway;
  const OpSpec& spec = spec_of(node);
  if (spec.kind != OpKind::kQuantization) {  // of an epilogue
    if (attr<std::string>(node, "out_unit") == "step") result.unit = ScaleUnit::kStep;
    if (const int zero = attr<int>(node, "out_zero"); zero != 0) result.zero_points = {zero};
    return result;
  }
  result.axis = attr<std::int64_t>(node, "axis");
  if (has_attr(spec, "unit") && attr<std::string>(node, "unit") == "step") result.unit = ScaleUnit::kStep;
  return result;
}

void set_steps(Quantization& result, std::span<const float> scales) {
  for (float scale : scales)
    result.steps.push_back(result.unit == ScaleUnit::kStep ? static_cast<double>(scale)
                                                           : static_cast<double>(scale) / result.qmax());
}

void hold_as(Quantization& result, DType integers) {
  result.held_as = integers;
  result.is_signed = integers != DType::kUInt8;
  if (integers == DType::kInt32 && result.unit == ScaleUnit::kStep) result.bits = 32;
}

}  // namespace

Quantization Quantization::of_abs_max(std::span<const float> abs_max, int bits, std::int64_t axis,
                                      Rounding rounding) {
  Quantization result{.bits = bits, .axis = axis, .rounding = rounding};
  set_steps(result, abs_max);
  return result;
}

Quantization quantization_of(const Node& node, const Tensor& scale, const Tensor* zero_point) {
  Quantization result = described_by(node);
  if (DType integers = DType::kInt8; node.op == "quantize") {
    parse_dtype(attr<std::string>(node, "dtype"), &integers);
    hold_as(result, integers);
  }
  auto scales = scale.data<float>();
  if (result.axis < 0) scales = scales.first(1);
  set_steps(result, scales);
  if (zero_point && result.unit == ScaleUnit::kStep) {
    const Tensor zeros = zero_point->cast(DType::kInt32);
    auto first = zeros.data<std::int32_t>().begin();
    result.zero_points.assign(first, first + static_cast<std::ptrdiff_t>(scales.size()));
  }
  return result;
}

std::optional<Quantization> quantization_of(const Graph& graph, const Node& node) {
  const bool from = node.op == "dequantize", to = node.op == "quantize" || node.op == "fake_quant";
  const ValueId scale_id = input_of(node, from || to ? "scale" : "out_scale");
  const ValueId zero_id = input_of(node, "zero_point");
  if (scale_id == kNoValue) return std::nullopt;
  const Tensor& scale = graph.value(scale_id).constant;
  if (scale.empty() || scale.dtype() != DType::kFloat32) return std::nullopt;
  if (zero_id != kNoValue && !graph.value(zero_id).is_constant()) return std::nullopt;
  Quantization result = described_by(node);
  if (scale.size() == 1) result.axis = -1;
  if (scale.size() != 1 && result.axis < 0) return std::nullopt;
  DType integers = DType::kInt8;
  if (from) integers = graph.value(node.inputs[0]).dtype;
  if (node.op == "quantize") parse_dtype(attr<std::string>(node, "dtype"), &integers);
  hold_as(result, integers);
  const Tensor aligned = scale.aligned();
  set_steps(result, aligned.data<float>());
  if (zero_id != kNoValue && result.unit == ScaleUnit::kStep) {
    const Tensor zeros = graph.value(zero_id).constant.aligned().cast(DType::kInt32);
    if (zeros.size() != 1 && zeros.size() != scale.size()) return std::nullopt;
    auto numbers = zeros.data<std::int32_t>();
    result.zero_points.assign(numbers.begin(), numbers.end());
  }
  return result;
}

bool has_integer_kernels(const Quantization& q) {
  return q.held_as == DType::kInt8 && q.bits >= 2 && q.bits <= 8;
}

std::optional<Tensor> less_zero_points(const Tensor& weights, const Quantization& how) {
  const Tensor from = weights.cast(DType::kInt32);
  Tensor to(DType::kInt16, from.shape());
  std::int64_t inner = 1, channels = 1;
  if (how.zero_points.size() > 1) {
    channels = from.dim(static_cast<std::size_t>(how.axis));
    inner = element_count(Shape(from.shape().begin() + how.axis + 1, from.shape().end()));
  }
  bool fit_bytes = true;
  auto out = to.mutable_data<std::int16_t>();
  for (std::int64_t i = 0; std::int32_t integer : from.data<std::int32_t>()) {
    const std::int32_t less = integer - how.zero_point(static_cast<std::size_t>(i / inner % channels));
    if (less < -kMaxWeight || less > kMaxWeight) return std::nullopt;
    fit_bytes = fit_bytes && less >= -128 && less <= 127;
    out[static_cast<std::size_t>(i++)] = static_cast<std::int16_t>(less);
  }
  return fit_bytes ? to.cast(DType::kInt8) : to;
}

float product_of_steps(const Quantization& x, const Quantization& w, std::size_t channel) {
  if (x.unit != ScaleUnit::kAbsMax || w.unit != ScaleUnit::kAbsMax)
    return static_cast<float>(x.step() * w.step(channel));
  const double abs_max = static_cast<double>(x.abs_max()) * static_cast<double>(w.abs_max(channel));
  return static_cast<float>(abs_max / (static_cast<double>(x.qmax()) * w.qmax()));
}

}  // namespace octet
