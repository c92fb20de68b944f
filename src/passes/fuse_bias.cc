#include "passes/epilogues.h"
#include "passes/passes.h"

namespace octet {

void fuse_bias(Graph& graph) {
  Uses uses(graph);
  for (Node& layer : graph.nodes) {
    if (!is_product(layer) || !is_open(layer)) continue;
    if (input_of(layer, "bias") != kNoValue || input_of(layer, "residual") != kNoValue) continue;
    Node* add = only_reader(graph, uses, layer);
    if (!add || add->op != "add" || !is_open(*add)) continue;
    // The constant may stand on either side where the shapes are aligned at their ends.
    std::int64_t axis = attr<std::int64_t>(*add, "axis");
    std::size_t side = add->inputs[0] == layer.outputs[0] ? 1 : 0;
    if (add->inputs[0] == add->inputs[1] || (side == 0 && axis != -1)) continue;
    const Value& bias = graph.value(add->inputs[side]);
    if (!bias.is_constant() || bias.dtype != DType::kFloat32) continue;
    if (!lies_along_channels(graph, layer, bias.shape, axis)) continue;
    ValueId flat = add->inputs[side];
    if (bias.shape.size() != 1) {
      Tensor tensor = bias.constant.aligned().reshaped({bias.constant.size()});
      flat = graph.add_constant(bias.name + ".flat", std::move(tensor));
    }
    set_input(layer, "bias", flat);
    take_over(layer, *add);
  }
  remove_taken_over(graph);
}

}  // namespace octet
