#include "graph/ops/convolution.h"

#include "graph/ops/epilogue.h"
#include "graph/ops/geometry.h"
#include "graph/ops/ops.h"

namespace octet::ops {
namespace {

std::int64_t groups_of(const Node& node) {
  std::int64_t groups = attr<std::int64_t>(node, "groups");
  if (groups < 1 || groups > (1 << 20)) fail("attribute groups is {}, expected a number from 1 on", groups);
  return groups;
}

void require_sides(const Shape& x, const Shape& weight) {
  if (x.size() != 4) fail("x has shape {}, expected 4 dimensions", to_string(x));
  if (weight.size() != 4) fail("weight has shape {}, expected 4 dimensions", to_string(weight));
  constexpr std::int64_t kMaxDim = std::int64_t{1} << 31;
  for (std::int64_t dim : weight)
    if (dim == 0 || dim > kMaxDim) fail("weight has shape {}, which makes no sense", to_string(weight));
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
    if (gate.size() != 4 || gate[2] != 1 || gate[3] != 1)
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

}  // namespace

std::vector<AttrSpec> conv_attrs() {
  using Ints = std::vector<std::int64_t>;
  return {{"strides", Ints{1, 1}},
          {"paddings", Ints{0, 0, 0, 0}},
          {"auto_pad", std::string("explicit")},
          {"dilations", Ints{1, 1}},
          {"groups", std::int64_t{1}}};
}

std::vector<AttrSpec> conv_transpose_attrs() {
  std::vector<AttrSpec> attrs = conv_attrs();
  attrs.push_back({"output_padding", std::vector<std::int64_t>{}});
  attrs.push_back({"output_size", std::vector<std::int64_t>{}});
  return attrs;
}

Shape conv_shape(const Node& node, const Shape& x, const Shape& weight) {
  require_sides(x, weight);
  std::int64_t groups = groups_of(node);
  require_groups(x[1], weight[1], groups, weight);
  if (weight[0] != kUnknown && weight[0] % groups != 0)
    fail("{} output channels cannot be split into {} groups", weight[0], groups);
  Window window = conv_window(node, x[2], x[3], weight[2], weight[3]);
  return {x[0], weight[0], window.y.out, window.x.out};
}

Shape conv_transpose_shape(const Node& node, const Shape& x, const Shape& weight) {
  require_sides(x, weight);
  std::int64_t groups = groups_of(node);
  std::int64_t channels = merge_dims(x[1], weight[0], "the channels of x and weight");
  if (channels != kUnknown && channels % groups != 0)
    fail("{} input channels cannot be split into {} groups", channels, groups);
  Window window = conv_transpose_window(node, x[2], x[3], weight[2], weight[3]);
  return {x[0], weight[1] == kUnknown ? kUnknown : weight[1] * groups, window.y.out, window.x.out};
}

std::vector<OpSpec> convolution() {
  std::vector<std::string_view> inputs = {"x", "weight", "bias?", "out_scale?", "residual?"};
  std::vector<AttrSpec> conv2d = with_epilogue(conv_attrs());
  conv2d.push_back({"exact", true});
  std::vector<std::string_view> conv2d_inputs = inputs;
  conv2d_inputs.push_back("gate?");
  return {
      {"conv2d", conv2d_inputs, {"y", "float?"}, conv2d, infer_conv2d},
      {"conv2d_transpose",
       inputs,
       {"y", "float?"},
       with_epilogue(conv_transpose_attrs()),
       infer_conv2d_transpose},
  };
}

}  // namespace octet::ops
