#include "passes/scores.h"

#include <algorithm>
#include <map>

#include "graph/op_table.h"
#include "passes/passes.h"

namespace octet {

namespace {

bool hands_on(const Node& node) {
  return node.op == "identity" || node.op == "cast" ||
         (node.op == "scale" && attr<double>(node, "scale") == 1.0 && attr<double>(node, "bias") == 0.0);
}

// The scores that an output is the answer of; the output itself where it is none.
ValueId scores_of(const Graph& graph, const std::map<ValueId, const Node*>& makers, ValueId output) {
  ValueId scores = output;
  bool chooses = false;
  for (ValueId at = output;;) {
    const auto maker = makers.find(at);
    if (maker == makers.end() || maker->second->inputs.empty()) return scores;
    const Node& node = *maker->second;
    at = node.inputs[0];
    if (at == kNoValue || graph.value(at).is_constant()) return scores;
    const bool is_softmax = node.op == "softmax" && (chooses || graph.value(at).shape.size() == 4);
    if (node.op == "arg_max" || is_softmax) {
      if (graph.value(at).dtype != DType::kFloat32) return scores;
      chooses = chooses || node.op == "arg_max";
      scores = at;
    } else if (!hands_on(node)) {
      return scores;
    }
  }
}

}  // namespace

AnswerOps take_answer_ops(Graph& graph) {
  std::map<ValueId, const Node*> makers;
  for (const Node& node : graph.nodes)
    for (ValueId id : node.outputs)
      if (id != kNoValue) makers[id] = &node;
  std::vector<ValueId> scores;
  for (ValueId output : graph.outputs) {
    const ValueId found = scores_of(graph, makers, output);
    if (std::ranges::find(scores, found) == scores.end()) scores.push_back(found);
  }
  if (scores == graph.outputs) return {};
  AnswerOps ops{.nodes = graph.nodes, .outputs = graph.outputs};
  for (std::size_t id = 0; id < graph.values.size(); ++id)
    if (graph.values[id].is_constant())
      ops.constants.emplace_back(static_cast<ValueId>(id), graph.values[id].constant);
  graph.outputs = std::move(scores);
  remove_dead_nodes(graph);
  std::erase_if(ops.nodes, [&](const Node& node) {
    return std::ranges::any_of(graph.nodes, [&](const Node& kept) { return kept.outputs == node.outputs; });
  });
  // Those that only they read have been given up in the graph.
  std::erase_if(ops.constants, [&](const auto& constant) {
    return std::ranges::none_of(ops.nodes, [&](const Node& node) {
      return std::ranges::find(node.inputs, constant.first) != node.inputs.end();
    });
  });
  return ops;
}

void put_back(Graph& graph, AnswerOps ops) {
  if (ops.empty()) return;
  std::ranges::move(ops.nodes, std::back_inserter(graph.nodes));
  graph.outputs = std::move(ops.outputs);
  for (auto& [id, tensor] : ops.constants) graph.value(id).constant = std::move(tensor);
}

}  // namespace octet
