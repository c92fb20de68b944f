#include "graph/ops/epilogue.h"
#include "graph/ops/ops.h"

namespace octet::ops {

namespace {

void infer_binary(const Node& node, Inputs inputs, Outputs outputs) {
  const ValueInfo& x = *inputs[0];
  const ValueInfo& y = *inputs[1];
  require_number(x, "x");
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

void infer_prelu(const Node& node, Inputs inputs, Outputs outputs) {
  infer_binary(node, inputs, outputs);
  const Shape &x = inputs[0]->shape, &out = outputs[0].shape;
  bool fits = x.size() == out.size();
  for (std::size_t i = 0; fits && i < out.size(); ++i)
    fits = x[i] == out[i] || x[i] == kUnknown || out[i] == kUnknown;
  if (!fits) fail("slope of shape {} does not broadcast to x, {}", to_string(inputs[1]->shape), to_string(x));
  outputs[0].shape = x;
}

void infer_scale(const Node&, Inputs inputs, Outputs outputs) {
  require_number(*inputs[0], "x");
  if (const ValueInfo* scale = input_at(inputs, 1)) {
    require_float(*scale, "scale");
    merge_dims(product(scale->shape), 1, "the number of elements of scale");
  }
  outputs[0] = {inputs[0]->dtype, inputs[0]->shape};
}

void infer_cast(const Node& node, Inputs inputs, Outputs outputs) {
  outputs[0] = {dtype_attr(node, "dtype"), inputs[0]->shape};
}

void infer_identity(const Node&, Inputs inputs, Outputs outputs) {
  outputs[0] = {inputs[0]->dtype, inputs[0]->shape};
}

}  // namespace

std::vector<OpSpec> elementwise() {
  auto binary = [](std::string_view name) {
    return OpSpec{.name = name,
                  .inputs = {"x", "y"},
                  .outputs = {"z"},
                  .attrs = {axis_attr(-1)},
                  .infer = infer_binary,
                  .kind = OpKind::kElementwise,
                  .quantizable = true};
  };
  OpSpec add = binary("add"), mul = binary("mul"), sub = binary("sub"), div = binary("div"),
         max = binary("max"), min = binary("min"), pow = binary("pow"), mod = binary("mod"),
         prelu = binary("prelu");
  for (OpSpec* spec : {&add, &mul}) {
    spec->inputs = {"x", "y", "out_scale?"};
    spec->outputs = {"z", "float?"};
    spec->infer = infer_binary_epilogue;
    spec->range = ValueRange::kKeepsSign;
  }
  add.integer_op = "qadd";
  mul.integer_op = "qmul";
  for (OpSpec* spec : {&add, &mul, &sub, &div}) spec->learned = {"x", "y"};
  for (OpSpec* spec : {&max, &min}) {
    spec->selects = true;
    spec->range = ValueRange::kOfInputs;
  }
  div.precision = pow.precision = MixedPrecision::kFloat;
  pow.quantizable = mod.quantizable = false;
  mod.trainable = false;
  mod.attrs.push_back(flag("truncated", false));
  prelu.inputs = {"x", "y"};
  prelu.infer = infer_prelu;
  prelu.learned = {"y"};
  return {
      with_epilogue(std::move(add)),
      with_epilogue(std::move(mul)),
      sub,
      div,
      max,
      min,
      pow,
      mod,
      prelu,
      {.name = "scale",
       .inputs = {"x", "scale?"},
       .attrs = {number_attr("scale", 1), number_attr("bias", 0), flag("bias_after_scale", true)},
       .infer = infer_scale,
       .kind = OpKind::kActivation,
       .quantizable = true},
      {.name = "cast", .attrs = {dtype_spec("float32")}, .infer = infer_cast, .kind = OpKind::kCast},
      {.name = "identity",
       .infer = infer_identity,
       .kind = OpKind::kView,
       .range = ValueRange::kOfInputs,
       .selects = true},
  };
}

}  // namespace octet::ops
