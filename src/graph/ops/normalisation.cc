#include "graph/ops/infer.h"
#include "graph/ops/ops.h"

namespace octet::ops {

namespace {

void infer_batch_norm(const Node&, Inputs inputs, Outputs outputs) {
  const ValueInfo& x = *inputs[0];
  require_float(x, "x");
  if (x.shape.size() < 2) fail("x has shape {}, expected at least 2 dimensions", to_string(x.shape));
  constexpr std::string_view kNames[] = {"x", "scale", "bias", "mean", "variance"};
  std::int64_t channels = x.shape[1];
  for (std::size_t i = 1; i < 5; ++i) {
    require_float(*inputs[i], kNames[i]);
    require_vector(*inputs[i], kNames[i], channels);
    channels = merge_dims(channels, inputs[i]->shape[0], "the number of channels");
  }
  outputs[0] = {x.dtype, x.shape};
  outputs[0].shape[1] = channels;
}

void infer_layer_norm(const Node& node, Inputs inputs, Outputs outputs) {
  const ValueInfo& x = *inputs[0];
  require_float(x, "x");
  auto begin = normalize_axis(attr<std::int64_t>(node, "begin_norm_axis"), x.shape.size(), "begin_norm_axis");
  std::int64_t size = product(x.shape, static_cast<std::size_t>(begin), x.shape.size());
  for (std::size_t i : {1, 2}) {
    const ValueInfo* parameter = input_at(inputs, i);
    if (!parameter) continue;
    require_float(*parameter, i == 1 ? "scale" : "bias");
    require_vector(*parameter, i == 1 ? "scale" : "bias", size);
  }
  outputs[0] = {x.dtype, x.shape};
  // Statistics of each row.
  Shape rows(x.shape.begin(), x.shape.begin() + begin);
  rows.resize(x.shape.size(), 1);
  for (std::size_t i = 1; i < outputs.size(); ++i) outputs[i] = {x.dtype, rows};
}

void infer_group_norm(const Node& node, Inputs inputs, Outputs outputs) {
  const ValueInfo& x = *inputs[0];
  require_float(x, "x");
  if (x.shape.size() < 2) fail("x has shape {}, expected at least 2 dimensions", to_string(x.shape));
  std::int64_t groups = attr<std::int64_t>(node, "groups");
  if (x.shape[1] != kUnknown && groups > 0 && x.shape[1] % groups != 0)
    fail("{} channels do not fall into {} groups", x.shape[1], groups);
  for (std::size_t i : {1, 2}) {
    const ValueInfo* parameter = input_at(inputs, i);
    if (!parameter) continue;
    require_float(*parameter, i == 1 ? "scale" : "bias");
    require_vector(*parameter, i == 1 ? "scale" : "bias", x.shape[1]);
  }
  outputs[0] = {x.dtype, x.shape};
}

void infer_lrn(const Node&, Inputs inputs, Outputs outputs) {
  require_float(*inputs[0], "x");
  if (inputs[0]->shape.size() < 2)
    fail("x has shape {}, expected at least 2 dimensions", to_string(inputs[0]->shape));
  outputs[0] = {inputs[0]->dtype, inputs[0]->shape};
}

void infer_softmax(const Node& node, Inputs inputs, Outputs outputs) {
  const ValueInfo& x = *inputs[0];
  require_float(x, "x");
  normalize_axis(attr<std::int64_t>(node, "axis"), std::max<std::size_t>(x.shape.size(), 1));
  outputs[0] = {x.dtype, x.shape};
}

}  // namespace

std::vector<OpSpec> normalisation() {
  const AttrSpec epsilon{"epsilon", 1e-5, from(0)};
  return {
      {.name = "batch_norm",
       .inputs = {"x", "scale", "bias", "mean", "variance"},
       .attrs = {epsilon, number_attr("momentum", 0.9)},
       .infer = infer_batch_norm,
       .kind = OpKind::kNormalization,
       .learned = {"scale", "bias"},
       .statistics = {"mean", "variance"},
       .quantizable = true,
       .precision = MixedPrecision::kFloat},
      {.name = "layer_norm",
       .inputs = {"x", "scale?", "bias?"},
       .outputs = {"y", "mean?", "inverse_deviation?"},
       .attrs = {epsilon, axis_attr(1, "begin_norm_axis"), flag("centered", true)},
       .infer = infer_layer_norm,
       .kind = OpKind::kNormalization,
       .learned = {"scale", "bias"},
       .quantizable = true,
       .precision = MixedPrecision::kFloat},
      {.name = "group_norm",
       .inputs = {"x", "scale?", "bias?"},
       .attrs = {epsilon, {"groups", std::int64_t{0}, between(0, 1 << 20)}},
       .infer = infer_group_norm,
       .kind = OpKind::kNormalization,
       .learned = {"scale", "bias"},
       .quantizable = true,
       .precision = MixedPrecision::kFloat},
      {.name = "lrn",
       .attrs = {{"size", std::int64_t{1}, between(1, kMaxExtent)},
                 number_attr("alpha", 1e-4),
                 number_attr("beta", 0.75),
                 number_attr("bias", 1)},
       .infer = infer_lrn,
       .kind = OpKind::kNormalization,
       .precision = MixedPrecision::kFloat,
       .trainable = false},
      {.name = "log_softmax",
       .attrs = {axis_attr(-1)},
       .infer = infer_softmax,
       .kind = OpKind::kNormalization,
       .precision = MixedPrecision::kFloat},
      {.name = "softmax",
       .attrs = {axis_attr(-1)},
       .infer = infer_softmax,
       .kind = OpKind::kNormalization,
       .range = ValueRange::kNonNegative,
       .quantizable = true,
       .precision = MixedPrecision::kFloat},
  };
}

}  // namespace octet::ops
