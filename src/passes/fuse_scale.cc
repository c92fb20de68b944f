#include <optional>

#include "passes/epilogues.h"
#include "passes/passes.h"

namespace octet {

namespace {

// The number by which a mul multiplies, or that an add adds, and the other operand.
struct Pair {
  ValueId x = kNoValue;
  double number = 0;
};

std::optional<Pair> pair_of(const Graph& graph, const Node& node) {
  if (!is_open(node) || node.outputs.size() != 1) return std::nullopt;
  for (std::size_t side : {std::size_t{1}, std::size_t{0}}) {
    const Value& value = graph.value(node.inputs[side]);
    const Value& other = graph.value(node.inputs[1 - side]);
    // The constant must not make the result one of more dimensions.
    if (!value.is_constant() || value.dtype != DType::kFloat32 || value.constant.size() != 1) continue;
    if (value.shape.size() > other.shape.size() || other.dtype != DType::kFloat32) continue;
    double number = static_cast<double>(value.constant.aligned().data<float>()[0]);
    return Pair{node.inputs[1 - side], number};
  }
  return std::nullopt;
}

}  // namespace

void fuse_scale(Graph& graph) {
  Uses uses(graph);
  for (Node& node : graph.nodes) {
    if (node.op != "mul") continue;
    std::optional<Pair> product = pair_of(graph, node);
    Node* add = product ? only_reader(graph, uses, node) : nullptr;
    if (!add || add->op != "add") continue;
    std::optional<Pair> sum = pair_of(graph, *add);
    if (!sum || sum->x != node.outputs[0]) continue;
    node.op = "scale";
    node.inputs = {product->x};
    node.attrs = {{"scale", product->number}, {"bias", sum->number}};
    take_over(node, *add);
  }
  remove_taken_over(graph);
}

}  // namespace octet
