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
  return {
      {"batch_norm",
       {"x", "scale", "bias", "mean", "variance"},
       {"y"},
       {{"epsilon", 1e-5}, {"momentum", 0.9}},
       infer_batch_norm},
      {"layer_norm",
       {"x", "scale?", "bias?"},
       {"y"},
       {{"epsilon", 1e-5}, {"begin_norm_axis", 1}},
       infer_layer_norm},
      {"softmax", {"x"}, {"y"}, {{"axis", -1}}, infer_softmax},
  };
}

}  // namespace octet::ops
