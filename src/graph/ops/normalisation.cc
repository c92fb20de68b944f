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
       .attrs = {epsilon, axis_attr(1, "begin_norm_axis")},
       .infer = infer_layer_norm,
       .kind = OpKind::kNormalization,
       .learned = {"scale", "bias"},
       .quantizable = true,
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
