#include "graph/quantization.h"
#include "passes/epilogues.h"
#include "passes/passes.h"

namespace octet {

namespace {

// The largest of some quantized numbers is the largest of them, quantized, if 0 stays 0 and the least integer
// is what a window of padding alone gives.
bool fits(const Graph& graph, const Node& quantize) {
  if (quantize.op != "quantize") return false;
  const std::optional<Quantization> found = quantization_of(graph, quantize);
  return found && has_integer_kernels(*found) && found->bits == 8 && found->is_per_tensor() &&
         found->rounding == Rounding::kEven;
}

}  // namespace

void hoist_quantize(Graph& graph) {
  Uses uses(graph);
  for (Node& pool : graph.nodes) {
    const OpSpec& spec = spec_of(pool);
    if (spec.kind != OpKind::kPool || spec.is_integer || !keeps_values(pool)) continue;
    Node* quantize = only_reader(graph, uses, pool);
    if (!quantize || !fits(graph, *quantize) || !uses.only_for_one(pool.inputs[0])) continue;
    ValueId x = pool.inputs[0], between = pool.outputs[0], y = quantize->outputs[0];
    // The value between them is now the quantized image.
    graph.value(between).dtype = DType::kInt8;
    graph.value(between).shape = graph.value(x).shape;
    graph.value(between).name = graph.value(x).name + ".quantized";
    std::swap(pool, *quantize);  // so that nodes stay in their order
    pool.inputs[0] = x;
    pool.outputs[0] = between;
    quantize->op = spec.integer_op;
    quantize->inputs[0] = between;
    quantize->outputs[0] = y;
    pool.source = quantize->source = -1;
  }
}

}  // namespace octet
