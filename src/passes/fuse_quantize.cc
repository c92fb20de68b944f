#include <map>

#include "graph/quantization.h"
#include "passes/epilogues.h"
#include "passes/passes.h"

namespace octet {

namespace {

// How a quantize node quantizes, if an epilogue can do that.
std::optional<Quantization> for_epilogue(const Graph& graph, const Node& node) {
  if (node.op != "quantize") return std::nullopt;
  std::optional<Quantization> found = quantization_of(graph, node);
  return found && has_integer_kernels(*found) && found->is_per_tensor() ? found : std::nullopt;
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
      const std::optional<Quantization> found = for_epilogue(graph, quantize);
      if (!found) continue;
      if (integers == kNoValue) {
        set_input(node, "out_scale", input_of(quantize, "scale"));
        node.attrs["bits"] = attr<std::int64_t>(quantize, "bits");
        node.attrs["rounding"] = attr<std::string>(quantize, "rounding");
        if (found->unit == ScaleUnit::kStep) node.attrs["out_unit"] = "step";
        if (found->zero_point() != 0) node.attrs["out_zero"] = std::int64_t{found->zero_point()};
        integers = quantize.outputs[0];
      } else {
        if (found != quantization_of(graph, node) || uses.is_output(quantize.outputs[0])) continue;
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
