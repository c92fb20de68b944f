#include "models/inference.h"

#include "passes/passes.h"

namespace octet::models {

void to_inference(Graph& graph, bool softmax) {
  remove_identities(graph);
  remove_dead_nodes(graph);
  if (softmax) {
    ValueId& output = graph.outputs.at(0);
    const Value& scores = graph.value(output);
    ValueId probabilities = graph.add_value("softmax_0", scores.dtype, Shape(scores.shape));
    graph.nodes.push_back({.op = "softmax",
                           .inputs = {output},
                           .outputs = {probabilities},
                           .attrs = {{"axis", std::int64_t{-1}}}});
    output = probabilities;
  }
  verify(graph);
}

}  // namespace octet::models
