#include <algorithm>

#include "passes/passes.h"

namespace octet {

namespace {

// In a graph that quantizes anywhere, float convolutions are exact to the bit: a last bit that differs would
// become an integer that differs. Elsewhere they may be computed in any way (Winograd).
void relax_floats(Graph& graph) {
  bool quantized = std::any_of(graph.nodes.begin(), graph.nodes.end(), [](const Node& node) {
    return node.op.starts_with('q') || node.op.find("quant") != std::string::npos;
  });
  if (quantized) return;
  fold_scale(graph);
  fuse_squeeze_excite(graph);
  for (Node& node : graph.nodes)
    if (node.op == "conv2d") node.attrs["exact"] = false;
}

}  // namespace

void optimize(Graph& graph, const Evaluate& evaluate) {
  remove_dead_nodes(graph);
  remove_identities(graph);
  fold_constants(graph, evaluate, false);
  to_qdq_form(graph);
  lower_to_integer(graph);
  lower_to_table(graph, evaluate);
  remove_identities(graph);
  remove_dead_nodes(graph);
  fold_constants(graph, evaluate, true);
  hoist_quantize(graph);
  // A bias may stand in front of a batch norm or behind it.
  fuse_bias(graph);
  fold_batch_norm(graph);
  fuse_bias(graph);
  fuse_scale(graph);
  fuse_residual(graph);
  fuse_activation(graph);
  fuse_quantize(graph);
  mark_ranges(graph);
  relax_floats(graph);
  remove_dead_nodes(graph);
}

}  // namespace octet
