#include "graph/ops/quantization.h"

#include <algorithm>

#include "graph/ops/convolution.h"
#include "graph/ops/matmul.h"
#include "graph/ops/ops.h"

namespace octet::ops {
namespace {

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
  outputs[0] = {dtype_attr(node, "dtype"), x.shape, nullptr};
}

void infer_dequantize(const Node& node, Inputs inputs, Outputs outputs) {
  const ValueInfo& x = *inputs[0];
  require_dtype(x, "x", {DType::kInt8, DType::kUInt8, DType::kInt32, DType::kFloat32});
  require_scale(*inputs[1], "scale");
  std::int64_t axis = checked_axis(node, x.shape);
  require_along(*inputs[1], "scale", x.shape, axis);
  if (const ValueInfo* zero = input_at(inputs, 2)) require_along(*zero, "zero_point", x.shape, axis);
  outputs[0] = {DType::kFloat32, x.shape, nullptr};
}

void infer_fake_quant(const Node& node, Inputs inputs, Outputs outputs) {
  const ValueInfo& x = *inputs[0];
  require_float(x, "x");
  require_scale(*inputs[1], "scale");
  require_along(*inputs[1], "scale", x.shape, checked_axis(node, x.shape));
  outputs[0] = {DType::kFloat32, x.shape, nullptr};
}

void infer_dynamic(const Node& node, Inputs inputs, Outputs outputs) {
  const ValueInfo& x = *inputs[0];
  require_float(x, "x");
  std::int64_t axis = checked_axis(node, x.shape);
  outputs[0] = {DType::kFloat32, x.shape, nullptr};
  std::int64_t channels = axis == -1 ? 1 : x.shape[static_cast<std::size_t>(axis)];
  if (outputs.size() > 1) outputs[1] = {DType::kFloat32, {channels}, nullptr};
}

void infer_dequantize_sum(const Node& node, Inputs inputs, Outputs outputs) {
  const ValueInfo& x = *inputs[0];
  require_float(x, "x");
  require_scale(*inputs[1], "weight_scale");
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

void infer_observe(const Node&, Inputs inputs, Outputs outputs) {
  outputs[0] = {inputs[0]->dtype, inputs[0]->shape, nullptr};
}

// x and weight of 8 bits, and zero points of their dtypes: one, or of weights one for each of `channels`.
void require_integers(Inputs inputs, std::int64_t channels) {
  for (std::size_t i : {0, 1}) {
    const std::string_view what = i == 0 ? "x" : "weight";
    require_dtype(*inputs[i], what, {DType::kInt8, DType::kUInt8});
    const ValueInfo* zero = input_at(inputs, i + 2);
    if (!zero) continue;
    require_dtype(*zero, i == 0 ? "x_zero" : "weight_zero", {inputs[i]->dtype});
    const std::int64_t count = product(zero->shape);
    if (count != kUnknown && count != 1 && (i == 0 || (channels != kUnknown && count != channels)))
      fail("{}_zero has shape {}, expected one element{}", what, to_string(zero->shape),
           i == 0 ? "" : " or one per output channel");
  }
}

void infer_conv2d_integer(const Node& node, Inputs inputs, Outputs outputs) {
  Shape out = conv_shape(node, inputs[0]->shape, inputs[1]->shape);
  require_integers(inputs, inputs[1]->shape[0]);
  outputs[0] = {DType::kInt32, std::move(out), nullptr};
}

void infer_matmul_integer(const Node&, Inputs inputs, Outputs outputs) {
  Shape out = matmul_shape(inputs[0]->shape, inputs[1]->shape, false, false).out;
  require_integers(inputs, inputs[1]->shape.empty() ? kUnknown : inputs[1]->shape.back());
  outputs[0] = {DType::kInt32, std::move(out), nullptr};
}

void check_quantize(const Graph&, const Node& node) {
  std::int64_t bits = attr<std::int64_t>(node, "bits");
  const std::string dtype = attr<std::string>(node, "dtype");
  if (dtype != "float32" && bits > 8)
    fail("attribute bits is {}, expected a number from 2 to 8 where dtype is {}", bits, dtype);
}

}  // namespace

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
  const AttrSpec axis = axis_attr(-1), bits = bits_attr(16);
  const AttrSpec unit{"unit", "abs_max", words({"abs_max", "step"})};
  std::vector<OpSpec> specs = {
      {.name = "quantize",
       .inputs = {"x", "scale", "zero_point?"},
       .attrs =
           {axis, bits, rounding_attr("even"), unit, {"dtype", "int8", words({"int8", "uint8", "float32"})}},
       .infer = infer_quantize,
       .check = check_quantize},
      {.name = "dequantize",
       .inputs = {"x", "scale", "zero_point?"},
       .attrs = {axis, bits, unit},
       .infer = infer_dequantize,
       .range = ValueRange::kKeepsSign},
      {.name = "fake_quant",
       .inputs = {"x", "scale", "alpha?", "state?", "accum?"},
       .attrs = {axis,
                 bits,
                 rounding_attr("even"),
                 {"method", "fixed", words({"fixed", "moving_average", "pact", "lsq", "abs_max"})},
                 {"moving_rate", 0.9, between(0, 1)}},
       .infer = infer_fake_quant,
       .learned = {"x", "scale", "alpha"},
       .statistics = {"scale", "state", "accum"}},
      {.name = "dynamic_quantize",
       .outputs = {"y", "scale"},
       .attrs = {axis, bits, rounding_attr("away")},
       .infer = infer_dynamic},
      {.name = "dynamic_fake_quant",
       .outputs = {"y", "scale"},
       .attrs = {axis, bits, rounding_attr("away")},
       .infer = infer_dynamic},
      {.name = "dequantize_sum",
       .inputs = {"x", "weight_scale", "x_scale?"},
       .attrs = {bits, bits_attr(16, "x_bits"), axis_attr(0), axis_attr(1, "x_num_col_dims")},
       .infer = infer_dequantize_sum},
      {.name = "dequantize_range",
       .inputs = {"x", "scale"},
       .attrs = {number_attr("range", 127)},
       .infer = infer_dequantize_range},
  };
  for (OpSpec& spec : specs) {
    spec.kind = OpKind::kQuantization;
    spec.precision = MixedPrecision::kFloat;
  }
  // Weights stay as they are: what makes integer kernels of these is pass to_int8.
  for (OpSpec spec :
       {OpSpec{.name = "conv2d_integer", .attrs = conv_spec("").attrs, .infer = infer_conv2d_integer},
        OpSpec{.name = "matmul_integer", .infer = infer_matmul_integer}}) {
    spec.inputs = {"x", "weight", "x_zero?", "weight_zero?"};
    spec.kind = OpKind::kQuantization;
    spec.trainable = false;
    specs.push_back(std::move(spec));
  }
  specs.push_back({.name = "observe",
                   .inputs = {"x", "scale?", "zero_point?"},
                   .attrs = {bits},
                   .infer = infer_observe,
                   .kind = OpKind::kView,
                   .range = ValueRange::kOfInputs,
                   .selects = true});
  return specs;
}

}  // namespace octet::ops
