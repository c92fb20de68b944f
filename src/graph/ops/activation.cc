#include <limits>

#include "graph/ops/infer.h"
#include "graph/ops/ops.h"

namespace octet::ops {

namespace {

void infer_activation(const Node&, Inputs inputs, Outputs outputs) {
  require_float(*inputs[0], "x");
  outputs[0] = {inputs[0]->dtype, inputs[0]->shape};
}

void infer_clip(const Node& node, Inputs inputs, Outputs outputs) {
  for (std::size_t i : {1, 2}) {
    const ValueInfo* bound = input_at(inputs, i);
    if (!bound) continue;
    std::string_view what = i == 1 ? "min" : "max";
    require_float(*bound, what);
    merge_dims(product(bound->shape), 1, fmt::format("the number of elements of {}", what));
  }
  infer_activation(node, inputs, outputs);
}

void infer_dropout(const Node& node, Inputs inputs, Outputs outputs) {
  std::string mode = attr<std::string>(node, "mode");
  if (mode != "upscale_in_train" && mode != "downgrade_in_infer")
    fail("attribute mode is \"{}\", expected upscale_in_train or downgrade_in_infer", mode);
  double p = attr<double>(node, "p");
  if (!(p >= 0 && p <= 1)) fail("attribute p is {}, expected a probability", p);
  infer_activation(node, inputs, outputs);
}

OpSpec activation_spec(std::string_view name, std::vector<AttrSpec> attrs = {}) {
  return {name, {"x"}, {"y"}, std::move(attrs), infer_activation};
}

}  // namespace

std::vector<OpSpec> activation() {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  return {
      activation_spec("relu"),
      activation_spec("sigmoid"),
      activation_spec("tanh"),
      activation_spec("exp"),
      activation_spec("sqrt"),
      activation_spec("abs"),
      activation_spec("relu6", {{"threshold", 6.0}}),
      activation_spec("leaky_relu", {{"alpha", 0.02}}),
      activation_spec("hard_sigmoid", {{"slope", 0.2}, {"offset", 0.5}}),
      activation_spec("hard_swish", {{"threshold", 6.0}, {"scale", 6.0}, {"offset", 3.0}}),
      activation_spec("swish", {{"beta", 1.0}}),
      activation_spec("gelu", {{"approximate", false}}),
      {"clip", {"x", "min?", "max?"}, {"y"}, {{"min", -kInfinity}, {"max", kInfinity}}, infer_clip},
      {"dropout", {"x"}, {"y"}, {{"p", 0.5}, {"mode", "upscale_in_train"}}, infer_dropout},
  };
}

}  // namespace octet::ops
