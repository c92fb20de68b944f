#include <map>

#include "passes/epilogues.h"
#include "passes/passes.h"

namespace octet {

namespace {

bool fits_epilogue(const Graph& graph, const Node& node) {
  if (node.op != "quantize" || attr<std::string>(node, "dtype") != "int8") return false;
  if (attr<std::string>(node, "unit") != "abs_max" || attr<std::int64_t>(node, "bits") > 8) return false;
  const Value& scale = graph.value(input_of(node, "scale"));
  // One scale for all, also where an axis is named.
  return scale.is_constant() && scale.dtype == DType::kFloat32 && scale.constant.size() == 1;
}

}  // namespace

void fuse_quantize(Graph& graph) {
  Uses uses(graph);
  // Readers of a value that is quantized twice in the same way share the first result.
  std::map<ValueId, ValueId> same;
  for (Node& node : graph.nodes) {
    if (!has_epilogue(node) || graph.value(node.outputs[0]).dtype != DType::kFloat32) continue;
    if (input_of(node, "out_scale") != kNoValue || node.outputs.size() != 1) continue;
    ValueId floats = node.outputs[0], integers = kNoValue;
    std::size_t taken = 0;
    for (int index : uses.consumers(floats)) {
      Node& quantize = graph.nodes[static_cast<std::size_t>(index)];
      if (quantize.op.empty() || !fits_epilogue(graph, quantize)) continue;
      if (integers == kNoValue) {
        set_input(node, "out_scale", input_of(quantize, "scale"));
        node.attrs["bits"] = attr<std::int64_t>(quantize, "bits");
        node.attrs["rounding"] = attr<std::string>(quantize, "rounding");
        integers = quantize.outputs[0];
      } else {
        float first = graph.value(input_of(node, "out_scale")).constant.aligned().data<float>()[0];
        float scale = graph.value(input_of(quantize, "scale")).constant.aligned().data<float>()[0];
        if (first != scale || attr<std::int64_t>(quantize, "bits") != attr<std::int64_t>(node, "bits") ||
            attr<std::string>(quantize, "rounding") != attr<std::string>(node, "rounding") ||
            uses.is_output(quantize.outputs[0]))
          continue;
        same[quantize.outputs[0]] = integers;
      }
      quantize = Node{};
      ++taken;
    }
    if (integers == kNoValue) continue;
    bool needs_floats = taken < uses.consumers(floats).size() || uses.is_output(floats);
    node.outputs = needs_floats ? std::vector<ValueId>{integers, floats} : std::vector<ValueId>{integers};
    node.source = -1;
  }
  for (Node& node : graph.nodes)
    for (ValueId& id : node.inputs)
      if (auto it = same.find(id); it != same.end()) id = it->second;
  remove_taken_over(graph);
}

}  // namespace octet
