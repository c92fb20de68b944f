#include "graph/ops/convolution.h"
#include "graph/ops/epilogue.h"
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

// What x is known to hold at least and at most.
void check_range(const Node& node) {
  std::int64_t low = attr<std::int64_t>(node, "x_min"), high = attr<std::int64_t>(node, "x_max");
  if (low < -128 || high > 127 || low > high)
    fail("attributes x_min {} and x_max {} make no range of int8", low, high);
}

// multiplier and all that follows, of an op with `channels` output channels.
void infer_channels(const Node& node, Inputs inputs, const Shape& out, std::int64_t channels,
                    Outputs outputs) {
  require_float(*inputs[2], "multiplier");
  require_vector(*inputs[2], "multiplier", channels);
  check_range(node);
  infer_linear_epilogue(node, inputs, 3, out, channels, outputs);
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
  infer_channels(node, inputs, out, out[1], outputs);
}

void infer_qconv2d_transpose(const Node& node, Inputs inputs, Outputs outputs) {
  require_int8(*inputs[0], "x");
  require_int8(*inputs[1], "weight");
  const Shape& weight = inputs[1]->shape;
  Shape out = conv_transpose_shape(node, inputs[0]->shape, weight);
  check_products(product({weight[0], weight[2], weight[3]}));
  infer_channels(node, inputs, out, out[1], outputs);
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
  check_range(node);
  std::int64_t columns = weight[transposed ? 0 : 1];
  Shape out(x.begin(), x.begin() + dims);
  out.push_back(columns);
  require_float(*inputs[2], "multiplier");
  if (product(inputs[2]->shape) != 1) require_vector(*inputs[2], "multiplier", columns);
  infer_linear_epilogue(node, inputs, 3, out, columns, outputs);
}

void infer_qelementwise(const Node& node, Inputs inputs, Outputs outputs) {
  require_int8(*inputs[0], "x");
  require_int8(*inputs[1], "y");
  require_one(*inputs[2], "x_step");
  require_one(*inputs[3], "y_step");
  Shape out = broadcast(inputs[0]->shape, inputs[1]->shape, attr<std::int64_t>(node, "axis")).out;
  infer_epilogue(node, input_at(inputs, 4), out, outputs);
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

// An epilogue, the range of x, and what one integer of the residual is worth.
std::vector<AttrSpec> linear_attrs(std::vector<AttrSpec> attrs) {
  attrs = with_epilogue(std::move(attrs));
  attrs.push_back({"x_min", std::int64_t{-128}});
  attrs.push_back({"x_max", std::int64_t{127}});
  attrs.push_back({"residual_step", 0.0});
  return attrs;
}

}  // namespace

std::vector<OpSpec> integer() {
  std::vector<std::string_view> channels = {"x", "weight", "multiplier", "bias?", "out_scale?", "residual?"};
  std::vector<std::string_view> pairs = {"x", "y", "x_step", "y_step", "out_scale?"};
  std::vector<AttrSpec> axis = with_epilogue({{"axis", std::int64_t{-1}}});
  return {
      {"qconv2d", channels, {"y", "float?"}, linear_attrs(conv_attrs()), infer_qconv2d},
      {"qconv2d_transpose",
       channels,
       {"y", "float?"},
       linear_attrs(conv_transpose_attrs()),
       infer_qconv2d_transpose},
      {"qmatmul",
       channels,
       {"y", "float?"},
       linear_attrs({{"transpose_y", false}, {"x_num_col_dims", std::int64_t{-1}}}),
       infer_qmatmul},
      {"qadd", pairs, {"z", "float?"}, axis, infer_qelementwise},
      {"qmul", pairs, {"z", "float?"}, axis, infer_qelementwise},
      {"qpool2d", {"x"}, {"y"}, pool_attrs(), infer_qpool2d},
      {"qresize", {"x", "out_size?", "scale?", "size*"}, {"y"}, resize_attrs(), infer_qresize},
      {"qlut", {"x", "table"}, {"y"}, {}, infer_qlut},
  };
}

}  // namespace octet::ops
