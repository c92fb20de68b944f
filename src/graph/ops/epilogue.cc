#include "graph/ops/epilogue.h"

#include "graph/activation.h"
#include "graph/ops/quantization.h"

namespace octet::ops {

void require_one(const ValueInfo& value, std::string_view what) {
  require_scale(value, what);
  std::int64_t count = product(value.shape);
  if (count != 1 && count != kUnknown)
    fail("{} has shape {}, expected one element", what, to_string(value.shape));
}

OpSpec with_epilogue(OpSpec spec) {
  std::vector<std::string_view> names = {""};
  for (const ActivationFunction& function : activation_table()) names.push_back(function.name);
  spec.attrs.push_back({"activation", std::string(), words(std::move(names))});
  spec.attrs.push_back({"activation_args", std::vector<double>{}, anything()});
  spec.attrs.push_back(bits_attr(8));
  spec.attrs.push_back(rounding_attr("even"));
  spec.attrs.push_back({"out_unit", "abs_max", words({"abs_max", "step"})});
  spec.attrs.push_back({"out_zero", std::int64_t{0}, between(-128, 127)});
  if (!spec.check) spec.check = check_epilogue;
  return spec;
}

void check_epilogue(const Graph&, const Node& node) {
  std::string name = attr<std::string>(node, "activation");
  const ActivationFunction* function = find_activation(name);
  std::size_t args = attr<std::vector<double>>(node, "activation_args").size();
  std::size_t expected = function ? function->param_count() : 0;
  if (args != 0 && args != expected)
    fail("attribute activation_args has {} numbers, \"{}\" takes {}", args, name, expected);
}

void infer_epilogue(const Node&, const ValueInfo* out_scale, const Shape& out, Outputs outputs) {
  if (out_scale) require_one(*out_scale, "out_scale");
  if (outputs.size() > 1 && !out_scale) fail("a second, float output makes no sense without an out_scale");
  outputs[0] = {out_scale ? DType::kInt8 : DType::kFloat32, out, nullptr};
  if (outputs.size() > 1) outputs[1] = {DType::kFloat32, out, nullptr};
}

void infer_linear_epilogue(const Node& node, Inputs inputs, std::size_t first, const Shape& out,
                           std::int64_t channels, Outputs outputs) {
  if (const ValueInfo* bias = input_at(inputs, first)) {
    require_float(*bias, "bias");
    require_vector(*bias, "bias", channels);
  }
  if (const ValueInfo* residual = input_at(inputs, first + 2)) {
    bool integers = residual->dtype == DType::kInt8;
    if (!integers) require_float(*residual, "residual");
    if (integers && !(spec_of(node).is_integer && attr<double>(node, "residual_step") > 0))
      fail("residual is int8, which needs an integer op and a residual_step above 0");
    require_rank(*residual, "residual", out.size());
    for (std::size_t i = 0; i < out.size(); ++i)
      merge_dims(residual->shape[i], out[i], "a dimension of residual and of the output");
  }
  infer_epilogue(node, input_at(inputs, first + 1), out, outputs);
}

}  // namespace octet::ops
