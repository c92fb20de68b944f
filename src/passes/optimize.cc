#include <algorithm>

#include "graph/op_table.h"
#include "passes/passes.h"

namespace octet {

namespace {

template <void (*Run)(Graph&)>
void always(Graph& graph, const Evaluate&) {
  Run(graph);
}

// In a graph that quantizes anywhere, float convolutions are exact to the bit: a last bit that differs would
// become an integer that differs. Elsewhere they may be computed in any way.
template <void (*Run)(Graph&)>
void unless_quantized(Graph& graph, const Evaluate&) {
  if (!is_quantized(graph)) Run(graph);
}

constexpr Pass kPasses[] = {
    {"remove_dead_nodes", always<remove_dead_nodes>},
    {"remove_identities", always<remove_identities>},
    {"fold_constants",
     [](Graph& graph, const Evaluate& evaluate) { fold_constants(graph, evaluate, false); }},
    {"recognise_functions", always<recognise_functions>},
    {"recognise_norms", always<recognise_norms>},
    {"to_qdq_form", always<to_qdq_form>},
    {"to_int8", always<to_int8>},
    {"lower_to_integer", always<lower_to_integer>},
    {"lower_to_table", lower_to_table},
    {"remove_identities", always<remove_identities>},
    {"remove_dead_nodes", always<remove_dead_nodes>},
    {"fold_constants", [](Graph& graph, const Evaluate& evaluate) { fold_constants(graph, evaluate, true); }},
    {"hoist_quantize", always<hoist_quantize>},
    {"fuse_bias", always<fuse_bias>},  // a bias may stand in front of a batch norm or behind it
    {"fold_batch_norm", always<fold_batch_norm>},
    {"fuse_bias", always<fuse_bias>},
    {"fuse_scale", always<fuse_scale>},
    {"fuse_residual", always<fuse_residual>},
    {"fuse_activation", always<fuse_activation>},
    {"fuse_quantize", always<fuse_quantize>},
    {"fuse_arg_max", always<fuse_arg_max>},
    {"mark_ranges", always<mark_ranges>},
    {"fold_scale", unless_quantized<fold_scale>},
    {"fuse_squeeze_excite", unless_quantized<fuse_squeeze_excite>},
    {"relax_convolutions", unless_quantized<relax_convolutions>},
    {"remove_dead_nodes", always<remove_dead_nodes>},
};

}  // namespace

std::span<const Pass> passes() {
  return kPasses;
}

void relax_convolutions(Graph& graph) {
  for (Node& node : graph.nodes)
    if (node.op == "conv2d") node.attrs["exact"] = false;
}

void optimize(Graph& graph, const Evaluate& evaluate) {
  for (const Pass& pass : passes()) pass.run(graph, evaluate);
}

}  // namespace octet
