#include "graph/ops/epilogue.h"

#include <algorithm>
#include <array>

#include "graph/ops/quantization.h"

namespace octet::ops {
namespace {

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

}  // namespace

void require_one(const ValueInfo& value, std::string_view what) {
  require_scale(value, what);
  std::int64_t count = product(value.shape);
  if (count != 1 && count != kUnknown)
    fail("{} has shape {}, expected one element", what, to_string(value.shape));
}

std::vector<AttrSpec> with_epilogue(std::vector<AttrSpec> attrs) {
  attrs.push_back({"activation", std::string()});
  attrs.push_back({"activation_args", std::vector<double>{}});
  attrs.push_back({"bits", std::int64_t{8}});
  attrs.push_back({"rounding", std::string("even")});
  return attrs;
}

void infer_epilogue(const Node& node, const ValueInfo* out_scale, const Shape& out, Outputs outputs) {
  std::string name = attr<std::string>(node, "activation");
  auto it = std::find_if(kActivations.begin(), kActivations.end(),
                         [&](const Activation& activation) { return activation.name == name; });
  if (it == kActivations.end()) fail("attribute activation is \"{}\", which no epilogue has", name);
  std::size_t args = attr<std::vector<double>>(node, "activation_args").size();
  if (args != 0 && args != it->args)
    fail("attribute activation_args has {} numbers, \"{}\" takes {}", args, name, it->args);
  checked_bits(node, "bits", 8);
  check_rounding(node);
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
    if (integers && !(node.op.starts_with('q') && attr<double>(node, "residual_step") > 0))
      fail("residual is int8, which needs an integer op and a residual_step above 0");
    require_rank(*residual, "residual", out.size());
    for (std::size_t i = 0; i < out.size(); ++i)
      merge_dims(residual->shape[i], out[i], "a dimension of residual and of the output");
  }
  infer_epilogue(node, input_at(inputs, first + 1), out, outputs);
}

}  // namespace octet::ops
