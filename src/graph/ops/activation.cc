#include "graph/activation.h"

#include "graph/ops/infer.h"
#include "graph/ops/ops.h"

namespace octet::ops {

namespace {

void infer_activation(const Node&, Inputs inputs, Outputs outputs) {
  require_float(*inputs[0], "x");
  outputs[0] = {inputs[0]->dtype, inputs[0]->shape};
}

void infer_numbers(const Node&, Inputs inputs, Outputs outputs) {
  require_number(*inputs[0], "x");
  outputs[0] = {inputs[0]->dtype, inputs[0]->shape};
}

void infer_clip(const Node& node, Inputs inputs, Outputs outputs) {
  for (std::size_t i : {1, 2}) {
    const ValueInfo* bound = input_at(inputs, i);
    if (!bound) continue;
    std::string_view what = i == 1 ? "min" : "max";
    require_dtype(*bound, what, {inputs[0]->dtype});
    merge_dims(product(bound->shape), 1, fmt::format("the number of elements of {}", what));
  }
  infer_numbers(node, inputs, outputs);
}

OpSpec function(std::string_view name) {
  return {.name = name, .infer = infer_activation, .kind = OpKind::kActivation};
}

// The op of an activation function that epilogues have.
OpSpec fusable(const ActivationFunction& row) {
  OpSpec spec = function(row.name);
  for (std::size_t i = 0; i < row.param_count(); ++i)
    spec.attrs.push_back(number_attr(row.params[i].name, row.params[i].default_value));
  spec.selects = row.selects;
  spec.homogeneous = row.homogeneous;
  spec.precision = row.precision;
  spec.quantizable = true;
  return spec;
}

}  // namespace

std::vector<OpSpec> activation() {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  std::vector<OpSpec> specs;
  for (const ActivationFunction& row : activation_table()) specs.push_back(fusable(row));
  OpSpec tanh = function("tanh"), exp = function("exp"), abs = function("abs"), gelu = function("gelu");
  tanh.quantizable = gelu.quantizable = true;
  exp.precision = gelu.precision = MixedPrecision::kFloat;
  abs.selects = true;
  gelu.attrs = {flag("approximate", false)};
  OpSpec sign = function("sign"), log = function("log"), elu = function("elu"), mish = function("mish"),
         softplus = function("softplus"), erf = function("erf");
  sign.infer = abs.infer = infer_numbers;
  sign.trainable = false;
  elu.attrs = {number_attr("alpha", 1)};
  log.precision = softplus.precision = mish.precision = erf.precision = MixedPrecision::kFloat;
  elu.quantizable = mish.quantizable = softplus.quantizable = true;
  softplus.range = ValueRange::kNonNegative;
  specs.insert(specs.end(), {tanh, exp, function("sqrt"), abs, gelu, elu, softplus, mish, erf, log, sign});
  for (const char* name : {"floor", "ceil", "round"}) {
    specs.push_back(function(name));
    specs.back().trainable = false;
  }
  specs.push_back({.name = "clip",
                   .inputs = {"x", "min?", "max?"},
                   .attrs = {number_attr("min", -kInfinity), number_attr("max", kInfinity)},
                   .infer = infer_clip,
                   .kind = OpKind::kActivation,
                   .quantizable = true});
  specs.push_back({.name = "dropout",
                   .attrs = {{"p", 0.5, between(0, 1)},
                             {"mode", "upscale_in_train", words({"upscale_in_train", "downgrade_in_infer"})}},
                   .infer = infer_activation,
                   .kind = OpKind::kActivation});
  return specs;
}

}  // namespace octet::ops
