#include "passes/epilogues.h"

#include <algorithm>

namespace octet {

bool has_one_tap(const Node& conv, const Shape& weight) {
  auto pads = attr<std::vector<std::int64_t>>(conv, "paddings");
  bool padded = std::any_of(pads.begin(), pads.end(), [](std::int64_t pad) { return pad != 0; });
  return weight[2] == 1 && weight[3] == 1 && !padded && attr<std::string>(conv, "auto_pad") == "explicit";
}

bool is_open(const Node& node) {
  return attr<std::string>(node, "activation").empty() && input_of(node, "out_scale") == kNoValue;
}

bool lies_along_channels(const Graph& graph, const Node& layer, const Shape& constant, std::int64_t axis) {
  std::int64_t count = element_count(constant), channels = output_channels(graph, layer);
  if (count != channels) return false;
  if (spec_of(layer).kind == OpKind::kMatmul) {
    if (constant.empty() || constant.back() != count) return false;
    auto rank = static_cast<std::int64_t>(graph.value(layer.outputs[0]).shape.size());
    if (static_cast<std::int64_t>(constant.size()) > rank) return false;
    return axis == -1 || (rank > 0 && axis == rank - static_cast<std::int64_t>(constant.size()));
  }
  if (axis == 1) return !constant.empty() && constant[0] == count;
  return axis == -1 && (constant.size() == 4 || constant.size() == 3) &&
         constant[constant.size() - 3] == count;
}

Node* only_reader(Graph& graph, const Uses& uses, const Node& node) {
  ValueId output = node.outputs[0];
  if (node.outputs.size() != 1 || output == kNoValue || !uses.only_for_one(output)) return nullptr;
  return &graph.nodes[static_cast<std::size_t>(uses.consumers(output)[0])];
}

void take_over(Node& node, Node& consumer) {
  node.outputs[0] = consumer.outputs[0];
  node.source = -1;
  consumer = Node{};
}

void remove_taken_over(Graph& graph) {
  std::erase_if(graph.nodes, [](const Node& node) { return node.op.empty(); });
}

}  // namespace octet
