#include "graph/ops/epilogue.h"
#include "graph/ops/ops.h"

namespace octet::ops {

namespace {

void infer_binary(const Node& node, Inputs inputs, Outputs outputs) {
  const ValueInfo& x = *inputs[0];
  const ValueInfo& y = *inputs[1];
  require_dtype(x, "x", {DType::kFloat32, DType::kInt32, DType::kInt64});
  require_dtype(y, "y", {x.dtype});
  outputs[0] = {x.dtype, broadcast(x.shape, y.shape, attr<std::int64_t>(node, "axis")).out};
}

// add and mul have an epilogue, on floats.
void infer_binary_epilogue(const Node& node, Inputs inputs, Outputs outputs) {
  infer_binary(node, inputs, outputs);
  if (outputs[0].dtype == DType::kFloat32) {
    Shape out = outputs[0].shape;
    infer_epilogue(node, input_at(inputs, 2), out, outputs);
  } else if (input_at(inputs, 2) || !attr<std::string>(node, "activation").empty()) {
    fail("x is {}; only floats have an epilogue", name_of(outputs[0].dtype));
  }
}

void infer_scale(const Node&, Inputs inputs, Outputs outputs) {
  require_dtype(*inputs[0], "x", {DType::kFloat32, DType::kInt32, DType::kInt64});
  if (const ValueInfo* scale = input_at(inputs, 1)) {
    require_float(*scale, "scale");
    merge_dims(product(scale->shape), 1, "the number of elements of scale");
  }
  outputs[0] = {inputs[0]->dtype, inputs[0]->shape};
}

void infer_cast(const Node& node, Inputs inputs, Outputs outputs) {
  DType dtype = dtype_attr(node, "dtype");
  // Nothing computes in 16-bit floats; they are only read from files.
  if (dtype == DType::kFloat16 || dtype == DType::kBFloat16)
    fail("a cast to {} is not supported; octet computes in float32", name_of(dtype));
  outputs[0] = {dtype, inputs[0]->shape};
}

void infer_identity(const Node&, Inputs inputs, Outputs outputs) {
  outputs[0] = {inputs[0]->dtype, inputs[0]->shape};
}

}  // namespace

std::vector<OpSpec> elementwise() {
  std::vector<OpSpec> specs;
  for (std::string_view name : {"add", "mul"})
    specs.push_back({name,
                     {"x", "y", "out_scale?"},
                     {"z", "float?"},
                     with_epilogue({{"axis", -1}}),
                     infer_binary_epilogue});
  for (std::string_view name : {"sub", "div", "max", "min", "pow"})
    specs.push_back({name, {"x", "y"}, {"z"}, {{"axis", -1}}, infer_binary});
  specs.push_back({"scale",
                   {"x", "scale?"},
                   {"y"},
                   {{"scale", 1.0}, {"bias", 0.0}, {"bias_after_scale", true}},
                   infer_scale});
  specs.push_back({"cast", {"x"}, {"y"}, {{"dtype", "float32"}}, infer_cast});
  specs.push_back({"identity", {"x"}, {"y"}, {}, infer_identity});
  return specs;
}

}  // namespace octet::ops
