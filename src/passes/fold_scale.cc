#include "passes/epilogues.h"
#include "passes/passes.h"

namespace octet {

void fold_scale(Graph& graph) {
  Uses uses(graph);
  for (Node& node : graph.nodes) {
    if (node.op != "scale" || node.inputs.size() != 1 || !attr<bool>(node, "bias_after_scale")) continue;
    Node* conv = only_reader(graph, uses, node);
    if (!conv || conv->op != "conv2d" || conv->inputs[0] != node.outputs[0]) continue;
    const Value& weight = graph.value(input_of(*conv, "weight"));
    ValueId bias = input_of(*conv, "bias");
    if (!weight.is_constant() || weight.dtype != DType::kFloat32 || !has_one_tap(*conv, weight.shape))
      continue;
    if (bias != kNoValue && !graph.value(bias).is_constant()) continue;

    double scale = attr<double>(node, "scale"), shift = attr<double>(node, "bias");
    std::int64_t channels = weight.shape[0];
    Tensor old = weight.constant.aligned(), weights(DType::kFloat32, weight.shape);
    Tensor biases(DType::kFloat32, {channels});
    Tensor old_bias = bias == kNoValue ? Tensor() : graph.value(bias).constant.aligned();
    auto inner = static_cast<std::size_t>(weight.shape[1]);
    for (std::size_t c = 0; c < static_cast<std::size_t>(channels); ++c) {
      double sum = old_bias.empty() ? 0.0 : static_cast<double>(old_bias.data<float>()[c]);
      for (std::size_t i = c * inner; i < (c + 1) * inner; ++i) {
        double w = static_cast<double>(old.data<float>()[i]);
        weights.mutable_data<float>()[i] = static_cast<float>(w * scale);
        sum += w * shift;
      }
      biases.mutable_data<float>()[c] = static_cast<float>(sum);
    }
    std::string name = graph.value(conv->outputs[0]).name;
    set_input(*conv, "weight", graph.add_constant(name + ".scaled", std::move(weights)));
    set_input(*conv, "bias", graph.add_constant(name + ".shifted", std::move(biases)));
    conv->inputs[0] = node.inputs[0];
  }
}

}  // namespace octet
