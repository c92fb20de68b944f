#include "graph/op_table.h"
#include "passes/epilogues.h"
#include "passes/passes.h"

namespace octet {

namespace {

// The first of the largest of each pixel's channels.
bool is_of_channels(const Node& node) {
  if (node.op != "arg_max" || input_of(node, "axis") != kNoValue) return false;
  const auto axis = attr<std::int64_t>(node, "axis");
  return (axis == 1 || axis == -3) && !attr<bool>(node, "flatten") && !attr<bool>(node, "last");
}

}  // namespace

void fuse_arg_max(Graph& graph) {
  Uses uses(graph);
  for (Node& resize : graph.nodes) {
    // What is not interpolated has no arithmetic to be shared, and reading it once more is cheap.
    if (resize.op != "resize" || attr<std::string>(resize, "mode") != "bilinear") continue;
    Node* arg_max = only_reader(graph, uses, resize);
    if (!arg_max || !is_of_channels(*arg_max)) continue;
    resize.op = "resize_arg_max";
    for (const char* name : {"keepdims", "dtype"})
      if (auto found = arg_max->attrs.find(name); found != arg_max->attrs.end())
        resize.attrs[name] = found->second;
    take_over(resize, *arg_max);
  }
  remove_taken_over(graph);
}

}  // namespace octet
