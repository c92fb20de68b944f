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
  if (dtype != DType::kInt32 && dtype != DType::kInt64)
    fail("attribute dtype is {}, expected int32 or int64", name_of(dtype));
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
  std::vector<OpSpec> specs;
  for (std::string_view name : {"reduce_mean", "reduce_sum", "reduce_max"})
    specs.push_back({name,
                     {"x"},
                     {"y"},
                     {{"axes", std::vector<std::int64_t>{}}, {"keepdims", false}, {"all", false}},
                     infer_reduce});
  specs.push_back({"arg_max",
                   {"x", "axis?"},
                   {"y"},
                   {{"axis", -1}, {"keepdims", false}, {"flatten", false}, {"dtype", "int64"}},
                   infer_arg_max});
  return specs;
}

}  // namespace octet::ops
