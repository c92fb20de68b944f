#include "graph/ops/quantization.h"

#include <algorithm>

#include "graph/ops/ops.h"

namespace octet::ops {
namespace {

void check_unit(const Node& node) {
  std::string unit = attr<std::string>(node, "unit");
  if (unit != "abs_max" && unit != "step")
    fail("attribute unit is \"{}\", expected \"abs_max\" or \"step\"", unit);
}

// `values` has one element, or one for each of x's channels along `axis`.
void require_along(const ValueInfo& values, std::string_view what, const Shape& x, std::int64_t axis) {
  std::int64_t count = product(values.shape);
  if (count == 0) fail("{} is empty", what);
  if (axis == -1 || count == kUnknown) return;
  std::int64_t channels = x[static_cast<std::size_t>(axis)];
  if (channels != kUnknown && channels != count)
    fail("{} has {} elements for {} channels (axis {} of {})", what, count, channels, axis, to_string(x));
}

// The attribute axis: -1, or one of x's dimensions.
std::int64_t checked_axis(const Node& node, const Shape& x) {
  std::int64_t axis = attr<std::int64_t>(node, "axis");
  if (axis < -1 || axis >= static_cast<std::int64_t>(x.size()))
    fail("attribute axis is {}, expected -1 or a dimension of {}", axis, to_string(x));
  return axis;
}

void infer_quantize(const Node& node, Inputs inputs, Outputs outputs) {
  const ValueInfo& x = *inputs[0];
  require_float(x, "x");
  require_scale(*inputs[1], "scale");
  std::int64_t axis = checked_axis(node, x.shape);
  require_along(*inputs[1], "scale", x.shape, axis);
  if (const ValueInfo* zero = input_at(inputs, 2)) require_along(*zero, "zero_point", x.shape, axis);
  check_rounding(node);
  check_unit(node);
  DType dtype = dtype_attr(node, "dtype");
  if (dtype != DType::kInt8 && dtype != DType::kFloat32)
    fail("attribute dtype is {}, expected int8 or float32", name_of(dtype));
  checked_bits(node, "bits", dtype == DType::kInt8 ? 8 : 16);
  outputs[0] = {dtype, x.shape, nullptr};
}

void infer_dequantize(const Node& node, Inputs inputs, Outputs outputs) {
  const ValueInfo& x = *inputs[0];
  require_dtype(x, "x", {DType::kInt8, DType::kInt32, DType::kFloat32});
  require_scale(*inputs[1], "scale");
  std::int64_t axis = checked_axis(node, x.shape);
  require_along(*inputs[1], "scale", x.shape, axis);
  if (const ValueInfo* zero = input_at(inputs, 2)) require_along(*zero, "zero_point", x.shape, axis);
  checked_bits(node);
  check_unit(node);
  outputs[0] = {DType::kFloat32, x.shape, nullptr};
}

void infer_fake_quant(const Node& node, Inputs inputs, Outputs outputs) {
  const ValueInfo& x = *inputs[0];
  require_float(x, "x");
  require_scale(*inputs[1], "scale");
  require_along(*inputs[1], "scale", x.shape, checked_axis(node, x.shape));
  checked_bits(node);
  check_rounding(node);
  outputs[0] = {DType::kFloat32, x.shape, nullptr};
}

void infer_dynamic(const Node& node, Inputs inputs, Outputs outputs) {
  const ValueInfo& x = *inputs[0];
  require_float(x, "x");
  std::int64_t axis = checked_axis(node, x.shape);
  checked_bits(node);
  check_rounding(node);
  outputs[0] = {DType::kFloat32, x.shape, nullptr};
  std::int64_t channels = axis == -1 ? 1 : x.shape[static_cast<std::size_t>(axis)];
  if (outputs.size() > 1) outputs[1] = {DType::kFloat32, {channels}, nullptr};
}

void infer_dequantize_sum(const Node& node, Inputs inputs, Outputs outputs) {
  const ValueInfo& x = *inputs[0];
  require_float(x, "x");
  require_scale(*inputs[1], "weight_scale");
  checked_bits(node);
  checked_bits(node, "x_bits");
  require_along(*inputs[1], "weight_scale", x.shape,
                dequantize_sum_axis(node, x.shape, input_at(inputs, 2) != nullptr));
  if (const ValueInfo* x_scale = input_at(inputs, 2)) require_scale(*x_scale, "x_scale");
  outputs[0] = {DType::kFloat32, x.shape, nullptr};
}

void infer_dequantize_range(const Node&, Inputs inputs, Outputs outputs) {
  require_float(*inputs[0], "x");
  require_scale(*inputs[1], "scale");
  outputs[0] = {DType::kFloat32, inputs[0]->shape, nullptr};
}

void infer_observe(const Node& node, Inputs inputs, Outputs outputs) {
  checked_bits(node);
  outputs[0] = {inputs[0]->dtype, inputs[0]->shape, nullptr};
}

AttrSpec text(std::string_view name, const char* value) {
  return {name, std::string(value)};
}
AttrSpec number(std::string_view name, std::int64_t value) {
  return {name, value};
}

}  // namespace

std::int64_t checked_bits(const Node& node, std::string_view name, std::int64_t max) {
  std::int64_t bits = attr<std::int64_t>(node, name);
  if (bits < 2 || bits > max) fail("attribute {} is {}, expected a number from 2 to {}", name, bits, max);
  return bits;
}

void check_rounding(const Node& node) {
  std::string rounding = attr<std::string>(node, "rounding");
  if (rounding != "even" && rounding != "away")
    fail("attribute rounding is \"{}\", expected \"even\" or \"away\"", rounding);
}

void require_scale(const ValueInfo& scale, std::string_view what) {
  require_float(scale, what);
  if (product(scale.shape) == 0) fail("{} is empty", what);
}

std::int64_t dequantize_sum_axis(const Node& node, const Shape& x, bool has_x_scale) {
  auto rank = static_cast<std::int64_t>(x.size());
  std::int64_t axis = has_x_scale ? std::max<std::int64_t>(attr<std::int64_t>(node, "x_num_col_dims"), 1)
                                  : attr<std::int64_t>(node, "axis");
  if (axis < 0 || axis >= rank) fail("channels along axis {}, which {} does not have", axis, to_string(x));
  return axis;
}

std::vector<OpSpec> quantization() {
  AttrSpec axis = number("axis", -1), bits = number("bits", 8), unit = text("unit", "abs_max");
  AttrSpec even = text("rounding", "even"), away = text("rounding", "away");
  return {
      {"quantize",
       {"x", "scale", "zero_point?"},
       {"y"},
       {axis, bits, even, unit, text("dtype", "int8")},
       infer_quantize},
      {"dequantize", {"x", "scale", "zero_point?"}, {"y"}, {axis, bits, unit}, infer_dequantize},
      {"fake_quant",
       {"x", "scale", "alpha?", "state?", "accum?"},
       {"y"},
       {axis, bits, even, text("method", "fixed"), {"moving_rate", 0.9}},
       infer_fake_quant},
      {"dynamic_quantize", {"x"}, {"y", "scale"}, {axis, bits, away}, infer_dynamic},
      {"dynamic_fake_quant", {"x"}, {"y", "scale"}, {axis, bits, away}, infer_dynamic},
      {"dequantize_sum",
       {"x", "weight_scale", "x_scale?"},
       {"y"},
       {bits, number("x_bits", 8), number("axis", 0), number("x_num_col_dims", 1)},
       infer_dequantize_sum},
      {"dequantize_range", {"x", "scale"}, {"y"}, {{"range", 127.0}}, infer_dequantize_range},
      {"observe", {"x", "scale?", "zero_point?"}, {"y"}, {bits}, infer_observe},
  };
}

}  // namespace octet::ops
