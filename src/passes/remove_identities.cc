#include <algorithm>

#include "passes/passes.h"

namespace octet {

namespace {

bool is_identity(const Graph& graph, const Node& node) {
  if (node.op == "identity" || node.op == "observe") return true;
  if (node.op == "dropout") return attr<std::string>(node, "mode") == "upscale_in_train";
  if (node.op == "cast") return graph.value(node.inputs[0]).dtype == graph.value(node.outputs[0]).dtype;
  if (node.op == "scale")
    return node.inputs.size() == 1 && attr<double>(node, "scale") == 1 && attr<double>(node, "bias") == 0;
  return false;
}

}  // namespace

// Makes the node that gives `from` give `to` instead. False: it is no node's result, or the user knows it,
// too.
bool rename_result(std::vector<Node>& nodes, const std::vector<bool>& visible, ValueId from, ValueId to) {
  if (visible[static_cast<std::size_t>(from)]) return false;
  auto rename = [&](std::vector<ValueId>& ids) {
    bool found = std::find(ids.begin(), ids.end(), from) != ids.end();
    std::replace(ids.begin(), ids.end(), from, to);
    return found;
  };
  if (std::none_of(nodes.begin(), nodes.end(), [&](Node& node) { return rename(node.outputs); }))
    return false;
  for (Node& node : nodes) rename(node.inputs);
  return true;
}

void remove_identities(Graph& graph) {
  std::vector<ValueId> stands_for(graph.values.size());
  for (std::size_t i = 0; i < stands_for.size(); ++i) stands_for[i] = static_cast<ValueId>(i);
  std::vector<bool> visible(graph.values.size());  // values whose names the user knows
  for (ValueId id : graph.outputs) visible[static_cast<std::size_t>(id)] = true;
  std::vector<Node> kept;
  for (Node& node : graph.nodes) {
    for (ValueId& id : node.inputs)
      if (id != kNoValue) id = stands_for[static_cast<std::size_t>(id)];
    if (!is_identity(graph, node)) {
      kept.push_back(std::move(node));
    } else if (!visible[static_cast<std::size_t>(node.outputs[0])]) {
      stands_for[static_cast<std::size_t>(node.outputs[0])] = node.inputs[0];
    } else if (rename_result(kept, visible, node.inputs[0], node.outputs[0])) {
      std::replace(stands_for.begin(), stands_for.end(), node.inputs[0], node.outputs[0]);
    } else {
      kept.push_back(std::move(node));
    }
  }
  graph.nodes = std::move(kept);
}

}  // namespace octet
