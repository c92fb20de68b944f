#include <algorithm>
#include <array>

#include "passes/epilogues.h"
#include "passes/passes.h"

namespace octet {

namespace {

// The functions that an epilogue has, and their attributes in the order of activation_args.
struct Function {
  std::string_view op;
  std::vector<std::string_view> attrs;
};

const Function* find_function(std::string_view op) {
  static const std::array<Function, 7> functions = {{{"relu", {}},
                                                     {"relu6", {"threshold"}},
                                                     {"hard_swish", {"threshold", "scale", "offset"}},
                                                     {"hard_sigmoid", {"slope", "offset"}},
                                                     {"swish", {"beta"}},
                                                     {"sigmoid", {}},
                                                     {"leaky_relu", {"alpha"}}}};
  auto it = std::find_if(functions.begin(), functions.end(), [&](const Function& f) { return f.op == op; });
  return it == functions.end() ? nullptr : &*it;
}

}  // namespace

void fuse_activation(Graph& graph) {
  Uses uses(graph);
  for (Node& node : graph.nodes) {
    if (!has_epilogue(node) || !is_open(node)) continue;
    if (graph.value(node.outputs[0]).dtype != DType::kFloat32) continue;
    Node* next = only_reader(graph, uses, node);
    const Function* function = next ? find_function(next->op) : nullptr;
    if (!function) continue;
    std::vector<double> args;
    for (std::string_view name : function->attrs) args.push_back(attr<double>(*next, name));
    node.attrs["activation"] = std::string(function->op);
    node.attrs["activation_args"] = std::move(args);
    take_over(node, *next);
  }
  remove_taken_over(graph);
}

}  // namespace octet
