#include "runtime/integer_input.h"

#include <algorithm>

#include "base/error.h"
#include "graph/op_table.h"
#include "graph/quantization.h"
#include "kernels/quantizer.h"

namespace octet {

namespace {

bool reads(const Node& node, ValueId id) {
  return std::ranges::find(node.inputs, id) != node.inputs.end();
}

// The only node that reads a value which is no output; nothing: there are several or none.
std::optional<std::size_t> only_reader(const Graph& graph, ValueId id) {
  std::optional<std::size_t> found;
  for (std::size_t step = 0; step < graph.nodes.size(); ++step) {
    if (!reads(graph.nodes[step], id)) continue;
    if (found) return std::nullopt;
    found = step;
  }
  return std::ranges::find(graph.outputs, id) == graph.outputs.end() ? found : std::nullopt;
}

// Views lie where their input was planned to be.
bool has_view(const Graph& graph, ValueId id) {
  return std::ranges::any_of(graph.nodes, [&](const Node& node) {
    const OpSpec* spec = find_op(node.op);
    return reads(node, id) && (!spec || spec->kind == OpKind::kView);
  });
}

}  // namespace

std::optional<IntegerInput> find_integer_input(const Graph& graph, ValueId input) {
  if (graph.value(input).dtype != DType::kFloat32 || graph.value(input).shape.size() != 4)
    return std::nullopt;
  const std::optional<std::size_t> quantize = only_reader(graph, input);
  if (!quantize || graph.nodes[*quantize].op != "quantize") return std::nullopt;
  const std::optional<Quantization> how = quantization_of(graph, graph.nodes[*quantize]);
  IntegerInput found = {graph.nodes[*quantize].outputs[0], {*quantize}};
  if (!how || !how->is_per_tensor() || graph.value(found.value).dtype != DType::kInt8) return std::nullopt;
  if (const std::optional<std::size_t> reader = only_reader(graph, found.value);
      reader && graph.nodes[*reader].op == "reorder")
    found = {graph.nodes[*reader].outputs[0], {*quantize, *reader}};
  const bool is_output = std::ranges::find(graph.outputs, found.value) != graph.outputs.end();
  return is_output || has_view(graph, found.value) ? std::nullopt : std::optional(found);
}

PixelIntegers integers_of(const Graph& graph, const IntegerInput& input, const PixelValues& values) {
  const std::optional<Quantization> how = quantization_of(graph, graph.nodes[input.steps.front()]);
  check(how.has_value(), "an input of integers is made by a quantize node");
  const Quantizer quantizer(*how);
  PixelIntegers integers{.table = {}, .to_planes = graph.value(input.value).layout == Layout::kPlain};
  for (const std::array<float, 256>& row : values)
    quantize_run(row.data(), static_cast<std::int64_t>(row.size()), quantizer,
                 integers.table.emplace_back().data());
  return integers;
}

}  // namespace octet
