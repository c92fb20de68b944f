#include "graph/ops/convolution.h"
#include "graph/ops/epilogue.h"
#include "graph/ops/matmul.h"
#include "graph/ops/ops.h"
#include "graph/ops/quantization.h"
#include "graph/ops/window.h"
#include "graph/quantization.h"

namespace octet::ops {
namespace {

void require_int8(const ValueInfo& value, std::string_view what) {
  require_dtype(value, what, {DType::kInt8});
}

// What x is known to hold at least and at most.
void check_range(const Node& node) {
  std::int64_t low = attr<std::int64_t>(node, "x_min"), high = attr<std::int64_t>(node, "x_max");
  if (low > high) fail("attributes x_min {} and x_max {} make no range of int8", low, high);
}

// x_zero, the integer that stands for 0 in x.
void require_zero(Inputs inputs) {
  const ValueInfo* zero = input_at(inputs, 6);
  if (!zero) return;
  require_int8(*zero, "x_zero");
  if (std::int64_t count = product(zero->shape); count != 1 && count != kUnknown)
    fail("x_zero has shape {}, expected one element", to_string(zero->shape));
}

// multiplier and all that follows, of an op with `channels` output channels.
void infer_channels(const Node& node, Inputs inputs, const Shape& out, std::int64_t channels,
                    Outputs outputs) {
  require_float(*inputs[2], "multiplier");
  require_vector(*inputs[2], "multiplier", channels);
  check_range(node);
  require_zero(inputs);
  infer_linear_epilogue(node, inputs, 3, out, channels, outputs);
}

void check_products(Inputs inputs, std::int64_t count) {
  const std::int64_t most = max_products(inputs[1]->dtype == DType::kInt16, input_at(inputs, 6) != nullptr);
  if (count != kUnknown && count > most)
    fail("{} products are added, more than the {} that an int32 sum holds", count, most);
}

// Weights with a zero point, less that, may need 9 bits.
void require_weights(const ValueInfo& weight) {
  require_dtype(weight, "weight", {DType::kInt8, DType::kInt16});
}

void infer_qconv2d(const Node& node, Inputs inputs, Outputs outputs) {
  require_int8(*inputs[0], "x");
  require_weights(*inputs[1]);
  Shape out = conv_shape(node, inputs[0]->shape, inputs[1]->shape);
  check_products(inputs, product(inputs[1]->shape, 1, 4));
  infer_channels(node, inputs, out, out[1], outputs);
}

void infer_qconv2d_transpose(const Node& node, Inputs inputs, Outputs outputs) {
  require_int8(*inputs[0], "x");
  require_weights(*inputs[1]);
  const Shape& weight = inputs[1]->shape;
  Shape out = conv_transpose_shape(node, inputs[0]->shape, weight);
  check_products(inputs, product({weight[0], weight[2], weight[3]}));
  infer_channels(node, inputs, out, out[1], outputs);
}

void infer_qmatmul(const Node& node, Inputs inputs, Outputs outputs) {
  const Shape &x = inputs[0]->shape, &weight = inputs[1]->shape;
  require_int8(*inputs[0], "x");
  require_weights(*inputs[1]);
  require_rank(*inputs[1], "weight", 2);
  auto rank = static_cast<std::int64_t>(x.size());
  std::int64_t dims = attr<std::int64_t>(node, "x_num_col_dims");
  if (dims == -1) dims = rank - 1;
  if (dims < 1 || dims >= rank)
    fail("attribute x_num_col_dims is {}, which does not split {} into a matrix", dims, to_string(x));
  bool transposed = attr<bool>(node, "transpose_y");
  std::int64_t inner = merge_dims(product(x, static_cast<std::size_t>(dims), x.size()),
                                  weight[transposed ? 1 : 0], "the columns of x and the rows of weight");
  check_products(inputs, inner);
  check_range(node);
  require_zero(inputs);
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

// The rows of products: an epilogue, the range of x, and what one integer of the residual is worth.
OpSpec product_spec(OpSpec spec, decltype(OpSpec::infer) infer) {
  spec = with_epilogue(std::move(spec));
  spec.inputs = {"x", "weight", "multiplier", "bias?", "out_scale?", "residual?", "x_zero?"};
  spec.outputs = {"y", "float?"};
  spec.attrs.push_back({"x_min", std::int64_t{-128}, between(-128, 127)});
  spec.attrs.push_back({"x_max", std::int64_t{127}, between(-128, 127)});
  spec.attrs.push_back({"residual_step", 0.0, from(0)});
  spec.infer = infer;
  spec.learned = {};
  return spec;
}

}  // namespace

std::vector<OpSpec> integer() {
  OpSpec qmatmul{.name = "qmatmul",
                 .attrs = {flag("transpose_y", false), {"x_num_col_dims", std::int64_t{-1}, axis_range()}},
                 .kind = OpKind::kMatmul,
                 .weights = "weight",
                 .channel_axis = matmul_axis,
                 .multiply_adds = matmul_multiply_adds};
  OpSpec qadd{.name = "qadd",
              .inputs = {"x", "y", "x_step", "y_step", "out_scale?"},
              .outputs = {"z", "float?"},
              .attrs = {axis_attr(-1),
                        {"x_zero", std::int64_t{0}, between(-128, 127)},
                        {"y_zero", std::int64_t{0}, between(-128, 127)}},
              .infer = infer_qelementwise,
              .kind = OpKind::kElementwise};
  OpSpec qmul = qadd, qpool = pool_spec("qpool2d"), qresize = resize_spec("qresize");
  qmul.name = "qmul";
  qpool.infer = infer_qpool2d;
  qresize.infer = infer_qresize;
  OpSpec qlut{.name = "qlut", .inputs = {"x", "table"}, .infer = infer_qlut, .kind = OpKind::kActivation};
  std::vector<OpSpec> specs = {
      product_spec(conv_spec("qconv2d"), infer_qconv2d),
      product_spec(conv_transpose_spec("qconv2d_transpose"), infer_qconv2d_transpose),
      product_spec(std::move(qmatmul), infer_qmatmul),
      with_epilogue(std::move(qadd)),
      with_epilogue(std::move(qmul)),
      qpool,
      qresize,
      qlut};
  for (OpSpec& spec : specs) {
    spec.is_integer = true;
    spec.trainable = false;
    spec.precision = MixedPrecision::kEither;
  }
  return specs;
}

}  // namespace octet::ops
