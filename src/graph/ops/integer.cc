#include <algorithm>
#include <array>

#include "graph/ops/convolution.h"
#include "graph/ops/ops.h"
#include "graph/ops/quantization.h"
#include "graph/ops/window.h"

namespace octet::ops {
namespace {

// With this many products of two int8, a sum still fits into int32.
constexpr std::int64_t kMaxProducts = (1 << 17) - 1;

void require_int8(const ValueInfo& value, std::string_view what) {
  require_dtype(value, what, {DType::kInt8});
}

void require_one(const ValueInfo& value, std::string_view what) {
  require_scale(value, what);
  std::int64_t count = product(value.shape);
  if (count != 1 && count != kUnknown)
    fail("{} has shape {}, expected one element", what, to_string(value.shape));
}

// The activation functions of an epilogue, and how many numbers activation_args may give each.
struct Activation {
  std::string_view name;
  std::size_t args;
};
constexpr std::array<Activation, 8> kActivations = {{{"", 0},
                                                     {"relu", 0},
                                                     {"relu6", 1},
                                                     {"hard_swish", 3},
                                                     {"hard_sigmoid", 2},
                                                     {"swish", 1},
                                                     {"sigmoid", 0},
                                                     {"leaky_relu", 1}}};

// The attributes of the epilogue, and the dtype that it gives.
DType infer_epilogue(const Node& node, const ValueInfo* out_scale) {
  std::string name = attr<std::string>(node, "activation");
  auto it = std::find_if(kActivations.begin(), kActivations.end(),
                         [&](const Activation& activation) { return activation.name == name; });
  if (it == kActivations.end()) fail("attribute activation is \"{}\", which no epilogue has", name);
  std::size_t args = attr<std::vector<double>>(node, "activation_args").size();
  if (args != 0 && args != it->args)
    fail("attribute activation_args has {} numbers, \"{}\" takes {}", args, name, it->args);
  checked_bits(node, "bits", 8);
  check_rounding(node);
  if (!out_scale) return DType::kFloat32;
  require_one(*out_scale, "out_scale");
  return DType::kInt8;
}

// multiplier, bias and out_scale of an op with `channels` output channels, from input 2 on.
DType infer_channels(const Node& node, Inputs inputs, std::int64_t channels) {
  require_float(*inputs[2], "multiplier");
  require_vector(*inputs[2], "multiplier", channels);
  if (const ValueInfo* bias = input_at(inputs, 3)) {
    require_float(*bias, "bias");
    require_vector(*bias, "bias", channels);
  }
  return infer_epilogue(node, input_at(inputs, 4));
}

void check_products(std::int64_t count) {
  if (count != kUnknown && count > kMaxProducts)
    fail("{} products are added, more than the {} that an int32 sum holds", count, kMaxProducts);
}

void infer_qconv2d(const Node& node, Inputs inputs, Outputs outputs) {
  require_int8(*inputs[0], "x");
  require_int8(*inputs[1], "weight");
  Shape out = conv_shape(node, inputs[0]->shape, inputs[1]->shape);
  check_products(product(inputs[1]->shape, 1, 4));
  outputs[0] = {infer_channels(node, inputs, out[1]), out, nullptr};
}

void infer_qconv2d_transpose(const Node& node, Inputs inputs, Outputs outputs) {
  require_int8(*inputs[0], "x");
  require_int8(*inputs[1], "weight");
  const Shape& weight = inputs[1]->shape;
  Shape out = conv_transpose_shape(node, inputs[0]->shape, weight);
  check_products(product({weight[0], weight[2], weight[3]}));
  outputs[0] = {infer_channels(node, inputs, out[1]), out, nullptr};
}

void infer_qmatmul(const Node& node, Inputs inputs, Outputs outputs) {
  const Shape &x = inputs[0]->shape, &weight = inputs[1]->shape;
  require_int8(*inputs[0], "x");
  require_int8(*inputs[1], "weight");
  require_rank(*inputs[1], "weight", 2);
  auto rank = static_cast<std::int64_t>(x.size());
  std::int64_t dims = attr<std::int64_t>(node, "x_num_col_dims");
  if (dims == -1) dims = rank - 1;
  if (dims < 1 || dims >= rank)
    fail("attribute x_num_col_dims is {}, which does not split {} into a matrix", dims, to_string(x));
  bool transposed = attr<bool>(node, "transpose_y");
  std::int64_t inner = merge_dims(product(x, static_cast<std::size_t>(dims), x.size()),
                                  weight[transposed ? 1 : 0], "the columns of x and the rows of weight");
  check_products(inner);
  std::int64_t columns = weight[transposed ? 0 : 1];
  Shape out(x.begin(), x.begin() + dims);
  out.push_back(columns);
  require_float(*inputs[2], "multiplier");
  if (product(inputs[2]->shape) != 1) require_vector(*inputs[2], "multiplier", columns);
  if (const ValueInfo* bias = input_at(inputs, 3)) {
    require_float(*bias, "bias");
    require_vector(*bias, "bias", columns);
  }
  outputs[0] = {infer_epilogue(node, input_at(inputs, 4)), out, nullptr};
}

void infer_qelementwise(const Node& node, Inputs inputs, Outputs outputs) {
  require_int8(*inputs[0], "x");
  require_int8(*inputs[1], "y");
  require_one(*inputs[2], "x_step");
  require_one(*inputs[3], "y_step");
  Shape out = broadcast(inputs[0]->shape, inputs[1]->shape, attr<std::int64_t>(node, "axis")).out;
  outputs[0] = {infer_epilogue(node, input_at(inputs, 4)), out, nullptr};
}

void infer_qpool2d(const Node& node, Inputs inputs, Outputs outputs) {
  require_int8(*inputs[0], "x");
  outputs[0] = {DType::kInt8, pool_shape(node, inputs[0]->shape), nullptr};
}

void infer_qresize(const Node& node, Inputs inputs, Outputs outputs) {
  require_int8(*inputs[0], "x");
  outputs[0] = {DType::kInt8, resize_shape(node, inputs), nullptr};
}

void infer_qlut(const Node&, Inputs inputs, Outputs outputs) {
  require_int8(*inputs[0], "x");
  require_int8(*inputs[1], "table");
  require_vector(*inputs[1], "table", 256);
  outputs[0] = {DType::kInt8, inputs[0]->shape, nullptr};
}

std::vector<AttrSpec> with_epilogue(std::vector<AttrSpec> attrs) {
  attrs.push_back({"activation", std::string()});
  attrs.push_back({"activation_args", std::vector<double>{}});
  attrs.push_back({"bits", std::int64_t{8}});
  attrs.push_back({"rounding", std::string("even")});
  return attrs;
}

}  // namespace

std::vector<OpSpec> integer() {
  std::vector<std::string_view> channels = {"x", "weight", "multiplier", "bias?", "out_scale?"};
  std::vector<std::string_view> pairs = {"x", "y", "x_step", "y_step", "out_scale?"};
  std::vector<AttrSpec> axis = with_epilogue({{"axis", std::int64_t{-1}}});
  return {
      {"qconv2d", channels, {"y"}, with_epilogue(conv_attrs()), infer_qconv2d},
      {"qconv2d_transpose", channels, {"y"}, with_epilogue(conv_transpose_attrs()), infer_qconv2d_transpose},
      {"qmatmul",
       channels,
       {"y"},
       with_epilogue({{"transpose_y", false}, {"x_num_col_dims", std::int64_t{-1}}}),
       infer_qmatmul},
      {"qadd", pairs, {"z"}, axis, infer_qelementwise},
      {"qmul", pairs, {"z"}, axis, infer_qelementwise},
      {"qpool2d", {"x"}, {"y"}, pool_attrs(), infer_qpool2d},
      {"qresize", {"x", "out_size?", "scale?", "size*"}, {"y"}, resize_attrs(), infer_qresize},
      {"qlut", {"x", "table"}, {"y"}, {}, infer_qlut},
  };
}

}  // namespace octet::ops
