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
  bool extreme = node.op == "reduce_max" || node.op == "reduce_min";
  if (node.op == "reduce_mean")
    require_dtype(x, "x", {DType::kFloat32, DType::kFloat64});
  else if (!extreme || x.dtype != DType::kBool)
    require_number(x, "x");
  bool keepdims = attr<bool>(node, "keepdims");
  const ValueInfo* axes = input_at(inputs, 1);
  outputs[0].dtype = x.dtype;
  if (axes && !attr<bool>(node, "all")) {
    std::optional<MaybeInts> given = ints_of(*axes, "axes");
    if (!axes->data) {
      // Without elements, all dims go, and before a run nothing is known of them.
      if (keepdims)
        outputs[0].shape.assign(x.shape.size(), kUnknown);
      else if (given && !given->empty() && given->size() <= x.shape.size())
        outputs[0].shape.assign(x.shape.size() - given->size(), kUnknown);
      else if (given && given->empty())
        outputs[0].shape = {};
      return;
    }
  }
  std::vector<bool> mask = reduced_dims(node, x.shape.size(), axes ? axes->data : nullptr);
  outputs[0].shape = reduced(x.shape, mask, keepdims);
}

void infer_arg_max(const Node& node, Inputs inputs, Outputs outputs) {
  const ValueInfo& x = *inputs[0];
  require_number(x, "x");
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

void infer_cumsum(const Node& node, Inputs inputs, Outputs outputs) {
  const ValueInfo& x = *inputs[0];
  require_number(x, "x");
  if (auto axis = attr_or_input(node, "axis", input_at(inputs, 1))) normalize_axis(*axis, x.shape.size());
  outputs[0] = {x.dtype, x.shape};
}

// `k` of top_k, checked; nothing before a run decides it.
std::optional<std::int64_t> top_k_count(const Node& node, Inputs inputs, std::int64_t size) {
  std::optional<std::int64_t> k = attr_or_input(node, "k", input_at(inputs, 1));
  if (k && (*k < 0 || (size != kUnknown && *k > size))) fail("k is {}, the axis has {} elements", *k, size);
  return k;
}

void infer_top_k(const Node& node, Inputs inputs, Outputs outputs) {
  const ValueInfo& x = *inputs[0];
  require_number(x, "x");
  auto axis = static_cast<std::size_t>(normalize_axis(attr<std::int64_t>(node, "axis"), x.shape.size()));
  Shape out = x.shape;
  out[axis] = top_k_count(node, inputs, x.shape[axis]).value_or(kUnknown);
  outputs[0] = {x.dtype, out};
  if (outputs.size() > 1) outputs[1] = {DType::kInt64, out};
}

}  // namespace

std::vector<OpSpec> reduction() {
  auto reduce = [](std::string_view name) {
    return OpSpec{.name = name,
                  .inputs = {"x", "axes?"},
                  .attrs = {axes_attr("axes"), flag("keepdims", false), flag("all", false)},
                  .infer = infer_reduce,
                  .kind = OpKind::kReduction,
                  .quantizable = true};
  };
  OpSpec mean = reduce("reduce_mean"), sum = reduce("reduce_sum"), max = reduce("reduce_max"),
         min = reduce("reduce_min"), prod = reduce("reduce_prod");
  mean.range = max.range = min.range = ValueRange::kOfInputs;
  mean.precision = sum.precision = prod.precision = MixedPrecision::kFloat;
  prod.range = ValueRange::kKeepsSign;
  prod.quantizable = false;
  prod.trainable = false;
  max.selects = min.selects = true;
  OpSpec arg_max{.name = "arg_max",
                 .inputs = {"x", "axis?"},
                 .attrs = {axis_attr(-1),
                           flag("keepdims", false),
                           flag("flatten", false),
                           flag("last", false),
                           {"dtype", "int64", words({"int32", "int64"})}},
                 .infer = infer_arg_max,
                 .kind = OpKind::kReduction};
  OpSpec arg_min = arg_max;
  arg_min.name = "arg_min";
  arg_min.trainable = false;
  OpSpec cumsum{.name = "cumsum",
                .inputs = {"x", "axis?"},
                .attrs = {axis_attr(-1), flag("exclusive", false), flag("reverse", false)},
                .infer = infer_cumsum,
                .kind = OpKind::kReduction,
                .trainable = false};
  OpSpec top_k{.name = "top_k",
               .inputs = {"x", "k?"},
               .outputs = {"values", "indices?"},
               .attrs = {{"k", std::int64_t{1}, from(0)}, axis_attr(-1), flag("largest", true)},
               .infer = infer_top_k,
               .kind = OpKind::kReduction,
               .range = ValueRange::kAny,
               .trainable = false};
  return {mean, sum, max, min, prod, arg_max, arg_min, cumsum, top_k};
}

}  // namespace octet::ops
