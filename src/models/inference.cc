#include "models/inference.h"

#include <fmt/format.h>

#include "passes/passes.h"

namespace octet::models {

void to_inference(Graph& graph, bool softmax) {
  remove_identities(graph);
  remove_dead_nodes(graph);
  if (softmax) {
    ValueId& output = graph.outputs.at(0);
    const Value& scores = graph.value(output);
    int number = 0;  // the graph of an inference model knows the name of the softmax that it had
    while (graph.find_value(fmt::format("softmax_{}", number)) != kNoValue) ++number;
    ValueId probabilities =
        graph.add_value(fmt::format("softmax_{}", number), scores.dtype, Shape(scores.shape));
    graph.nodes.push_back({.op = "softmax",
                           .inputs = {output},
                           .outputs = {probabilities},
                           .attrs = {{"axis", std::int64_t{-1}}}});
    output = probabilities;
  }
  verify(graph);
}

}  // namespace octet::models
