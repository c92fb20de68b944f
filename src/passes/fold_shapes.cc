#include <algorithm>

#include "graph/op_table.h"
#include "passes/passes.h"

namespace octet {

namespace {

// A resize to a size that is a constant says it in its attributes, which every other runtime reads.
void take_size(const Graph& graph, Node& node) {
  const ValueId id = input_of(node, "out_size");
  if (id == kNoValue || !graph.value(id).is_constant() || input_of(node, "size") != kNoValue) return;
  const std::vector<std::int64_t> size = to_int64s(graph.value(id).constant);
  if (size.size() != 2) return;
  node.attrs["out_h"] = size[0];
  node.attrs["out_w"] = size[1];
  node.attrs.erase("scale");
  node.inputs = {node.inputs[0]};
}

}  // namespace

void fold_shapes(Graph& graph) {
  std::vector<ValueInfo> infos;
  for (const Value& value : graph.values)
    infos.push_back({value.dtype, value.shape, value.is_constant() ? &value.constant : nullptr});
  for (ValueId id : graph.inputs) {
    Shape& shape = infos[static_cast<std::size_t>(id)].shape;
    if (!shape.empty()) shape[0] = kUnknown;
  }
  const InferredValues inferred = infer_values(graph, std::move(infos));
  const auto is_output = [&](ValueId id) {
    return std::ranges::find(graph.outputs, id) != graph.outputs.end();
  };
  std::vector<Node> kept;
  for (Node& node : graph.nodes) {
    const ValueId made = node.outputs.size() == 1 ? node.outputs[0] : kNoValue;
    const Tensor* known = made == kNoValue ? nullptr : inferred.infos[static_cast<std::size_t>(made)].data;
    if (known && !is_output(made)) {
      graph.value(made).constant = *known;
      graph.value(made).dtype = known->dtype();
      graph.value(made).shape = known->shape();
      continue;
    }
    if (node.op == "resize") take_size(graph, node);
    kept.push_back(std::move(node));
  }
  graph.nodes = std::move(kept);
  remove_dead_nodes(graph);
  infer_shapes(graph);
}

}  // namespace octet
