#include "graph/ops/convolution.h"

#include <algorithm>

#include "graph/ops/epilogue.h"
#include "graph/ops/geometry.h"
#include "graph/ops/ops.h"
#include "graph/ops/window.h"

namespace octet::ops {
namespace {

// Weights that make sense, and whose first dimension falls into the node's groups.
void require_kernels(const Node& node, const Shape& weight) {
  if (weight.size() != 4) fail("weight has shape {}, expected 4 dimensions", to_string(weight));
  constexpr std::int64_t kMaxDim = std::int64_t{1} << 31;
  for (std::int64_t dim : weight)
    if (dim == 0 || dim > kMaxDim) fail("weight has shape {}, which makes no sense", to_string(weight));
  std::int64_t groups = attr<std::int64_t>(node, "groups");
  if (weight[0] != kUnknown && weight[0] % groups != 0)
    fail("attribute groups is {}, which does not divide the first dimension of weight {}", groups,
         to_string(weight));
}

void check_conv(const Graph& graph, const Node& node) {
  const Value& weight = graph.value(input_of(node, "weight"));
  if (weight.is_constant()) require_kernels(node, weight.shape);
  check_epilogue(graph, node);
}

int conv_axis(const Node&, const Shape& weight) {
  return weight.size() == 4 ? 0 : -1;
}

int conv_transpose_axis(const Node&, const Shape& weight) {
  return weight.size() == 4 ? 1 : -1;
}

std::int64_t conv_multiply_adds(const Node&, const Shape& weight, const Shape& output) {
  return element_count(output) * weight[1] * weight[2] * weight[3];
}

std::int64_t conv_transpose_multiply_adds(const Node& node, const Shape& weight, const Shape& output) {
  auto strides = attr<IntList>(node, "strides");
  return element_count(output) / std::max<std::int64_t>(output[1], 1) * element_count(weight) /
         (strides[0] * strides[1]);
}

// a is b times groups, as far as both are known.
void require_groups(std::int64_t channels, std::int64_t per_group, std::int64_t groups, const Shape& weight) {
  if (channels != kUnknown && per_group != kUnknown &&
      (channels % groups != 0 || channels / groups != per_group))
    fail("x has {} channels, which does not fit groups {} and weight {}", channels, groups,
         to_string(weight));
}

void infer_conv2d(const Node& node, Inputs inputs, Outputs outputs) {
  require_float(*inputs[0], "x");
  require_float(*inputs[1], "weight");
  Shape out = conv_shape(node, inputs[0]->shape, inputs[1]->shape);
  if (inputs.size() > 5 && inputs[5]) {
    require_float(*inputs[5], "gate");
    const Shape &x = inputs[0]->shape, &gate = inputs[5]->shape;
    const auto is_one = [](std::int64_t dim) { return dim == 1 || dim == kUnknown; };
    if (gate.size() != 4 || !is_one(gate[2]) || !is_one(gate[3]))
      fail("gate has shape {}, expected one number a channel", to_string(gate));
    merge_dims(x[0], gate[0], "the images of x and gate");
    merge_dims(x[1], gate[1], "the channels of x and gate");
  }
  infer_linear_epilogue(node, inputs, 2, out, out[1], outputs);
}

void infer_conv2d_transpose(const Node& node, Inputs inputs, Outputs outputs) {
  require_float(*inputs[0], "x");
  require_float(*inputs[1], "weight");
  Shape out = conv_transpose_shape(node, inputs[0]->shape, inputs[1]->shape);
  infer_linear_epilogue(node, inputs, 2, out, out[1], outputs);
}

std::vector<AttrSpec> conv_attrs() {
  return {{"strides", IntList{1, 1}, numbers({2}, 1, kMaxStep)},
          {"paddings", IntList{0, 0, 0, 0}, numbers({4}, 0, kMaxStep)},
          auto_pad_attr(),
          {"dilations", IntList{1, 1}, numbers({2}, 1, kMaxStep)},
          {"groups", std::int64_t{1}, between(1, 1 << 20)}};
}

std::vector<AttrSpec> conv_transpose_attrs() {
  std::vector<AttrSpec> attrs = conv_attrs();
  attrs.push_back({"output_padding", IntList{}, numbers({0, 2}, 0, kMaxStep)});
  attrs.push_back({"output_size", IntList{}, numbers({0, 2}, 1, kMaxExtent)});
  return attrs;
}

}  // namespace

OpSpec conv_spec(std::string_view name) {
  return {.name = name,
          .outputs = {"y", "float?"},
          .attrs = conv_attrs(),
          .check = check_conv,
          .kind = OpKind::kConvolution,
          .weights = "weight",
          .channel_axis = conv_axis,
          .multiply_adds = conv_multiply_adds,
          .learned = {"weight", "bias"},
          .precision = MixedPrecision::kLow};
}

OpSpec conv_transpose_spec(std::string_view name) {
  OpSpec spec = conv_spec(name);
  spec.attrs = conv_transpose_attrs();
  spec.channel_axis = conv_transpose_axis;
  spec.multiply_adds = conv_transpose_multiply_adds;
  return spec;
}

Shape conv_shape(const Node& node, const Shape& x, const Shape& weight) {
  if (x.size() != 4) fail("x has shape {}, expected 4 dimensions", to_string(x));
  require_kernels(node, weight);
  require_groups(x[1], weight[1], attr<std::int64_t>(node, "groups"), weight);
  Window window = conv_window(node, x[2], x[3], weight[2], weight[3]);
  return {x[0], weight[0], window.y.out, window.x.out};
}

Shape conv_transpose_shape(const Node& node, const Shape& x, const Shape& weight) {
  if (x.size() != 4) fail("x has shape {}, expected 4 dimensions", to_string(x));
  require_kernels(node, weight);
  std::int64_t groups = attr<std::int64_t>(node, "groups");
  std::int64_t channels = merge_dims(x[1], weight[0], "the channels of x and weight");
  if (channels != kUnknown && channels % groups != 0)
    fail("{} input channels cannot be split into {} groups", channels, groups);
  Window window = conv_transpose_window(node, x[2], x[3], weight[2], weight[3]);
  return {x[0], weight[1] == kUnknown ? kUnknown : weight[1] * groups, window.y.out, window.x.out};
}

std::vector<OpSpec> convolution() {
  OpSpec conv2d = conv_spec("conv2d"), transpose = conv_transpose_spec("conv2d_transpose");
  transpose.inputs = conv2d.inputs = {"x", "weight", "bias?", "out_scale?", "residual?"};
  conv2d.inputs.push_back("gate?");
  conv2d.attrs.push_back(flag("exact", true));
  conv2d.infer = infer_conv2d;
  conv2d.integer_op = "qconv2d";
  transpose.infer = infer_conv2d_transpose;
  transpose.integer_op = "qconv2d_transpose";
  return {with_epilogue(std::move(conv2d)), with_epilogue(std::move(transpose))};
}

}  // namespace octet::ops
