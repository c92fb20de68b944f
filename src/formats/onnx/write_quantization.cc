#include <algorithm>
#include <cmath>

#include "formats/onnx/writer.h"
#include "graph/quantization.h"

// Quantize and dequantize nodes as QuantizeLinear and DequantizeLinear, in the form that the target turns
// into integer arithmetic (docs/onnx.md). A symmetric step of octet's stays, but for the cpu target, where
// numbers that are never negative get the other half of the integers, too.
namespace octet::onnx {

namespace {

template <class T>
T get(const Node& node, std::string_view name) {
  return attr<T>(node, name);
}

std::optional<Quantization> described(const Writer& w) {
  std::optional<Quantization> how = quantization_of(w.graph(), w.node());
  if (!how) fail("its scales are not constants");
  return how;
}

Tensor float_list(const std::vector<float>& values, bool scalar) {
  return Tensor::of<float>(scalar ? Shape{} : Shape{static_cast<std::int64_t>(values.size())}, values);
}

// Scales and zero points in the file's terms, for a tensor of this quantization.
WrittenQuantization written(Writer& w, const Quantization& how, DType dtype, double ratio, int shift = 0) {
  WrittenQuantization result;
  result.dtype = dtype;
  for (double step : how.steps) result.steps.push_back(static_cast<float>(step * ratio));
  const bool scalar = how.is_per_tensor();
  result.scale = w.constant(float_list(result.steps, scalar));
  std::vector<double> zeros;
  for (std::size_t i = 0; i < how.steps.size(); ++i) zeros.push_back(how.zero_point(i) + shift);
  const Tensor zero =
      Tensor::of<double>(scalar ? Shape{} : Shape{static_cast<std::int64_t>(zeros.size())}, zeros)
          .cast(dtype);
  result.zero_point = w.constant(zero);
  result.axis = how.axis;
  return result;
}

WrittenAttrs axis_attrs(const WrittenQuantization& how) {
  return how.axis < 0 ? WrittenAttrs() : WrittenAttrs{{"axis", how.axis}};
}

// From `low` times the largest number on: the 255 steps lie where numbers are.
void write_shifted(Writer& w, const Quantization& how, double low) {
  const double ratio = step_ratio(w, w.node(), how);
  const int zero = static_cast<int>(std::nearbyint(-low * 127.0 / ratio));
  const WrittenQuantization made = written(w, how, DType::kUInt8, ratio, zero);
  w.integers(w.node().outputs[0]) = made;
  w.emit_to("QuantizeLinear", {w.in(0), made.scale, made.zero_point}, {w.out()});
}

void write_quantize(Writer& w) {
  const Node& node = w.node();
  const Quantization how = *described(w);
  if (how.rounding == Rounding::kAway)
    fail("ONNX rounds halves to even, this one rounds them away from zero");
  if (how.unit == ScaleUnit::kAbsMax && how.bits != 8)
    fail("ONNX quantizes to 8 bits, this one to {}", how.bits);
  DType dtype = how.unit == ScaleUnit::kStep ? how.held_as : DType::kInt8;
  const double least = w.least(node.outputs[0]);
  // Behind a ReLU, 8 bits without a sign: ONNX Runtime takes the ReLU into the convolution only then.
  if (can_be_shifted(how) && w.target() == Target::kCommon && w.least(node.inputs[0]) >= 0)
    dtype = DType::kUInt8;
  if (can_be_shifted(how) && w.target() == Target::kCpu && gained_range(how, least) > -1)
    return write_shifted(w, how, gained_range(how, least));
  if (w.target() == Target::kTensorRt &&
      (dtype != DType::kInt8 || !std::ranges::all_of(how.zero_points, [](int z) { return z == 0; })))
    fail("TensorRT takes int8 with zero point 0, this one is {} with zero point {}", octet::name_of(dtype),
         how.zero_point());
  // The same integers, 128 more: ONNX Runtime takes int8 only where a single node reads them.
  const bool shifts = w.target() == Target::kCpu && dtype == DType::kInt8 && how.is_per_tensor();
  const WrittenQuantization made = written(w, how, shifts ? DType::kUInt8 : dtype, 1, shifts ? 128 : 0);
  w.integers(node.outputs[0]) = made;
  w.emit_to("QuantizeLinear", {w.in(0), made.scale, made.zero_point}, {w.out()}, axis_attrs(made));
}

// Weights: the file's integers, as int8 or in 4 bits.
std::string write_weights(Writer& w, const Quantization& how) {
  const Tensor& constant = w.value(0).constant;
  Tensor integers = constant.aligned();
  if (integers.dtype() == DType::kFloat32) {
    for (float value : integers.data<float>())
      if (value != std::rint(value) || std::abs(value) > 128) fail("its weights are no 8-bit integers");
    integers = integers.cast(DType::kInt8);
  }
  const bool packs = how.bits == 4 && w.opset() >= 21 && integers.dtype() == DType::kInt8;
  if (packs)
    for (std::int8_t value : integers.data<std::int8_t>())
      if (value < -8 || value > 7) return w.constant(integers);
  return w.constant(integers, packs ? ElementType::kInt4 : element_type(integers.dtype()));
}

void write_dequantize(Writer& w) {
  const Node& node = w.node();
  const Quantization how = *described(w);
  if (w.value(0).is_constant()) {
    const bool is_32 = w.value(0).dtype == DType::kInt32;
    std::string x = is_32 ? w.in(0) : write_weights(w, how);
    DType dtype = w.value(0).dtype == DType::kFloat32 ? DType::kInt8 : w.value(0).dtype;
    WrittenQuantization made = written(w, how, dtype, 1);
    if (!is_32 && how.bits == 4 && w.type_of(x) == ElementType::kInt4) {
      std::vector<double> zeros(how.steps.size(), 0);
      made.zero_point = w.constant(
          Tensor::of<double>(how.is_per_tensor() ? Shape{} : Shape{static_cast<std::int64_t>(zeros.size())},
                             zeros)
              .cast(DType::kInt8),
          ElementType::kInt4);
    }
    w.emit_to("DequantizeLinear", {x, made.scale, is_32 ? "" : made.zero_point}, {w.out()}, axis_attrs(made));
    w.integers(node.outputs[0]) = made;
    return;
  }
  WrittenQuantization made = w.integers(node.inputs[0]);
  if (made.scale.empty()) {  // of integers that something else made
    if (w.value(0).dtype == DType::kFloat32)
      fail("its integers are held as floats, which ONNX does not have");
    made = written(w, how, w.value(0).dtype, 1);
  }
  w.integers(node.outputs[0]) = made;
  // ONNX Runtime computes with integers only where one node dequantizes them, for all who read them.
  const ValueId y = node.outputs[0];
  const Node* maker = w.maker(node.inputs[0]);
  if (maker && maker->op == "quantize" && !w.is_output(y)) {
    std::string& first = w.integers(node.inputs[0]).dequantized;
    if (!first.empty() && quantization_of(w.graph(), *maker)->steps == how.steps) return w.alias(y, first);
    first = w.out();
  }
  w.emit_to("DequantizeLinear", {w.in(0), made.scale, made.zero_point}, {w.out()}, axis_attrs(made));
}

}  // namespace

// The bias in int32, in units of the sums: what older ONNX Runtimes need to compute with integers. Nothing
// where one number would not fit (guarded_weights sees to it where it can): a wrapped one would be wrong.
std::string integer_bias(Writer& w) {
  const ValueId bias = input_of(w.node(), "bias");
  if (w.target() != Target::kCpu || bias == kNoValue || !w.graph().value(bias).is_constant()) return "";
  const WrittenQuantization &x = w.integers(w.node().inputs[0]), &weight = w.integers(weights_of(w.node()));
  if (x.steps.size() != 1 || weight.steps.empty()) return "";
  const Tensor values = w.graph().value(bias).constant.aligned();
  if (values.dtype() != DType::kFloat32 || values.rank() != 1) return "";
  if (weight.steps.size() != 1 && weight.steps.size() != static_cast<std::size_t>(values.size())) return "";
  std::vector<std::int32_t> integers;
  std::vector<float> scales;
  for (std::size_t i = 0; float value : values.data<float>()) {
    const float scale = x.steps[0] * weight.steps[weight.steps.size() == 1 ? 0 : i++];
    const double integer = std::nearbyint(static_cast<double>(value) / static_cast<double>(scale));
    if (!(scale > 0) || !(std::abs(integer) <= kLargestBias)) return "";
    integers.push_back(static_cast<std::int32_t>(integer));
    scales.push_back(scale);
  }
  const bool scalar = weight.steps.size() == 1;
  if (scalar) scales.resize(1);
  std::string stored = w.constant(Tensor::of<std::int32_t>(values.shape(), integers));
  WrittenAttrs attrs;
  if (!scalar) attrs = {{"axis", std::int64_t{0}}};
  return w.emit("DequantizeLinear", {stored, w.constant(float_list(scales, scalar))}, attrs);
}

std::vector<WriteRow> quantization_writers() {
  return {{"quantize", write_quantize}, {"dequantize", write_dequantize}};
}

}  // namespace octet::onnx
