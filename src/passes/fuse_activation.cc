#include "graph/activation.h"

#include "passes/epilogues.h"
#include "passes/passes.h"

namespace octet {

void fuse_activation(Graph& graph) {
  Uses uses(graph);
  for (Node& node : graph.nodes) {
    if (!has_epilogue(node) || !is_open(node)) continue;
    if (graph.value(node.outputs[0]).dtype != DType::kFloat32) continue;
    Node* next = only_reader(graph, uses, node);
    const ActivationFunction* function = next ? find_activation(next->op) : nullptr;
    if (!function) continue;
    std::vector<double> args;
    for (std::size_t i = 0; i < function->param_count(); ++i)
      args.push_back(attr<double>(*next, function->params[i].name));
    node.attrs["activation"] = std::string(function->name);
    node.attrs["activation_args"] = std::move(args);
    take_over(node, *next);
  }
  remove_taken_over(graph);
}

}  // namespace octet
