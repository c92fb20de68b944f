#include "passes/epilogues.h"

#include <algorithm>

namespace octet {

bool is_linear(const Node& node) {
  return node.op == "conv2d" || node.op == "conv2d_transpose" || node.op == "matmul" ||
         node.op == "matmul_flat" || node.op == "qconv2d" || node.op == "qconv2d_transpose" ||
         node.op == "qmatmul";
}

std::int64_t weight_channel_axis(const Node& layer) {
  if (layer.op == "conv2d") return 0;
  return layer.op == "matmul" && attr<bool>(layer, "transpose_y") ? 0 : 1;
}

bool has_epilogue(const Node& node) {
  return is_linear(node) || node.op == "add" || node.op == "mul" || node.op == "qadd" || node.op == "qmul";
}

EpilogueSlots epilogue_slots(const Node& node) {
  if (node.op == "add" || node.op == "mul") return {.out_scale = 2};
  if (node.op == "qadd" || node.op == "qmul") return {.out_scale = 4};
  if (node.op.starts_with('q')) return {.bias = 3, .out_scale = 4, .residual = 5};
  return {.bias = 2, .out_scale = 3, .residual = 4};
}

ValueId input_of(const Node& node, int slot) {
  auto index = static_cast<std::size_t>(slot);
  return slot >= 0 && index < node.inputs.size() ? node.inputs[index] : kNoValue;
}

void set_input(Node& node, int slot, ValueId id) {
  auto index = static_cast<std::size_t>(slot);
  if (node.inputs.size() <= index) node.inputs.resize(index + 1, kNoValue);
  node.inputs[index] = id;
}

bool has_one_tap(const Node& conv, const Shape& weight) {
  auto pads = attr<std::vector<std::int64_t>>(conv, "paddings");
  bool padded = std::any_of(pads.begin(), pads.end(), [](std::int64_t pad) { return pad != 0; });
  return weight[2] == 1 && weight[3] == 1 && !padded && attr<std::string>(conv, "auto_pad") == "explicit";
}

bool is_open(const Node& node) {
  return attr<std::string>(node, "activation").empty() &&
         input_of(node, epilogue_slots(node).out_scale) == kNoValue;
}

std::int64_t channels_of(const Graph& graph, const Node& node) {
  const Shape& weight = graph.value(node.inputs[1]).shape;
  std::size_t rank = weight.size();
  if (node.op == "conv2d" || node.op == "qconv2d") return rank == 4 ? weight[0] : kUnknown;
  if (node.op == "conv2d_transpose" || node.op == "qconv2d_transpose")
    return rank == 4 && weight[1] != kUnknown ? weight[1] * attr<std::int64_t>(node, "groups") : kUnknown;
  if (rank < 2) return kUnknown;
  if (node.op == "matmul_flat" && attr<std::int64_t>(node, "y_num_col_dims") != static_cast<int>(rank) - 1)
    return kUnknown;
  bool transposed = node.op != "matmul_flat" && attr<bool>(node, "transpose_y");
  return weight[transposed ? rank - 2 : rank - 1];
}

bool lies_along_channels(const Graph& graph, const Node& layer, const Shape& constant, std::int64_t axis) {
  std::int64_t count = element_count(constant), channels = channels_of(graph, layer);
  if (count != channels) return false;
  if (layer.op.find("matmul") != std::string::npos) {
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
