#include "graph/ops/infer.h"
#include "graph/ops/ops.h"
#include "graph/ops/resolve.h"

namespace octet::ops {

namespace {

// `shape` without the marked dims, or with ones in their places.
Shape reduced(const Shape& shape, const std::vector<bool>& mask, bool keepdims) {
  Shape out;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (!mask[i])
      out.push_back(shape[i]);
    else if (keepdims)
      out.push_back(1);
  }
  return out;
}

void infer_reduce(const Node& node, Inputs inputs, Outputs outputs) {
  const ValueInfo& x = *inputs[0];
  if (node.op == "reduce_mean")
    require_float(x, "x");
  else
    require_dtype(x, "x", {DType::kFloat32, DType::kInt32, DType::kInt64});
  std::vector<bool> mask = reduced_dims(node, x.shape.size());
  if (node.op == "reduce_max")
    for (std::size_t i = 0; i < mask.size(); ++i)
      if (mask[i] && x.shape[i] == 0) fail("x has shape {}: no elements, no maximum", to_string(x.shape));
  outputs[0] = {x.dtype, reduced(x.shape, mask, attr<bool>(node, "keepdims"))};
}

void infer_arg_max(const Node& node, Inputs inputs, Outputs outputs) {
  const ValueInfo& x = *inputs[0];
  require_dtype(x, "x", {DType::kFloat32, DType::kInt32, DType::kInt64});
  DType dtype = dtype_attr(node, "dtype");
  bool keepdims = attr<bool>(node, "keepdims");
  std::vector<bool> mask(x.shape.size(), attr<bool>(node, "flatten"));
  if (!attr<bool>(node, "flatten") && !x.shape.empty()) {
    auto axis = attr_or_input(node, "axis", input_at(inputs, 1));
    if (!axis) {
      outputs[0] = {dtype, Shape(x.shape.size() - (keepdims ? 0 : 1), kUnknown)};
      return;
    }
    mask[static_cast<std::size_t>(normalize_axis(*axis, x.shape.size()))] = true;
  }
  for (std::size_t i = 0; i < mask.size(); ++i)
    if (mask[i] && x.shape[i] == 0) fail("x has shape {}: no elements, no maximum", to_string(x.shape));
  outputs[0] = {dtype, reduced(x.shape, mask, keepdims)};
}

}  // namespace

std::vector<OpSpec> reduction() {
  auto reduce = [](std::string_view name) {
    return OpSpec{.name = name,
                  .attrs = {axes_attr("axes"), flag("keepdims", false), flag("all", false)},
                  .infer = infer_reduce,
                  .kind = OpKind::kReduction,
                  .quantizable = true};
  };
  OpSpec mean = reduce("reduce_mean"), sum = reduce("reduce_sum"), max = reduce("reduce_max");
  mean.range = max.range = ValueRange::kOfInputs;
  mean.precision = sum.precision = MixedPrecision::kFloat;
  max.selects = true;
  OpSpec arg_max{.name = "arg_max",
                 .inputs = {"x", "axis?"},
                 .attrs = {axis_attr(-1),
                           flag("keepdims", false),
                           flag("flatten", false),
                           {"dtype", "int64", words({"int32", "int64"})}},
                 .infer = infer_arg_max,
                 .kind = OpKind::kReduction};
  return {mean, sum, max, arg_max};
}

}  // namespace octet::ops
