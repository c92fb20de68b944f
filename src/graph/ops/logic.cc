#include "graph/ops/infer.h"
#include "graph/ops/ops.h"

namespace octet::ops {

namespace {

void infer_comparison(const Node& node, Inputs inputs, Outputs outputs) {
  const ValueInfo &x = *inputs[0], &y = *inputs[1];
  if (node.op != "equal" || x.dtype != DType::kBool) require_number(x, "x");
  require_dtype(y, "y", {x.dtype});
  outputs[0] = {DType::kBool, broadcast(x.shape, y.shape, attr<std::int64_t>(node, "axis")).out};
}

void infer_logical(const Node& node, Inputs inputs, Outputs outputs) {
  require_dtype(*inputs[0], "x", {DType::kBool});
  require_dtype(*inputs[1], "y", {DType::kBool});
  outputs[0] = {DType::kBool,
                broadcast(inputs[0]->shape, inputs[1]->shape, attr<std::int64_t>(node, "axis")).out};
}

void infer_not(const Node&, Inputs inputs, Outputs outputs) {
  require_dtype(*inputs[0], "x", {DType::kBool});
  outputs[0] = {DType::kBool, inputs[0]->shape};
}

void infer_where(const Node&, Inputs inputs, Outputs outputs) {
  require_dtype(*inputs[0], "condition", {DType::kBool});
  require_dtype(*inputs[2], "y", {inputs[1]->dtype});
  Shape both = broadcast(inputs[1]->shape, inputs[2]->shape).out;
  outputs[0] = {inputs[1]->dtype, broadcast(inputs[0]->shape, both).out};
}

}  // namespace

std::vector<OpSpec> logic() {
  auto pair = [](std::string_view name, decltype(OpSpec::infer) infer) {
    return OpSpec{.name = name,
                  .inputs = {"x", "y"},
                  .outputs = {"z"},
                  .attrs = {axis_attr(-1)},
                  .infer = infer,
                  .kind = OpKind::kElementwise,
                  .trainable = false};
  };
  return {
      pair("equal", infer_comparison),
      pair("less", infer_comparison),
      pair("less_equal", infer_comparison),
      pair("logical_and", infer_logical),
      pair("logical_or", infer_logical),
      pair("logical_xor", infer_logical),
      {.name = "logical_not", .infer = infer_not, .kind = OpKind::kElementwise, .trainable = false},
      {.name = "where",
       .inputs = {"condition", "x", "y"},
       .outputs = {"z"},
       .infer = infer_where,
       .kind = OpKind::kElementwise,
       .range = ValueRange::kOfInputs,
       .trainable = false},
  };
}

}  // namespace octet::ops
