#include <algorithm>

#include "graph/op_table.h"
#include "graph/quantization.h"
#include "passes/passes.h"

namespace octet {

namespace {

bool has_step(const Node& node) {
  return (node.op == "quantize" || node.op == "dequantize") && attr<std::string>(node, "unit") == "step";
}

// Integers of 32 bits, a bias, become the floats that they stand for.
Tensor dequantized(const Tensor& integers, const Quantization& how) {
  const Tensor from = integers.aligned();
  Tensor to(DType::kFloat32, from.shape());
  std::int64_t inner = 1, channels = 1;
  if (!how.is_per_tensor()) {
    channels = from.dim(static_cast<std::size_t>(how.axis));
    inner = element_count(Shape(from.shape().begin() + how.axis + 1, from.shape().end()));
  }
  auto out = to.mutable_data<float>();
  for (std::int64_t i = 0; std::int32_t integer : from.data<std::int32_t>()) {
    const auto channel = static_cast<std::size_t>(i / inner % channels);
    out[static_cast<std::size_t>(i++)] =
        static_cast<float>(integer - how.zero_point(channel)) * static_cast<float>(how.step(channel));
  }
  return to;
}

}  // namespace

bool has_steps(const Graph& graph) {
  return std::ranges::any_of(graph.nodes, has_step);
}

void to_abs_max(Graph& graph) {
  for (Node& node : graph.nodes) {
    if (!has_step(node)) continue;
    const std::optional<Quantization> how = quantization_of(graph, node);
    if (!how) fail("{}: its scales are not known before a run, which Paddle's are", describe(graph, node));
    const ValueId y = node.outputs[0];
    if (how->held_as == DType::kInt32 && graph.value(node.inputs[0]).is_constant()) {
      Tensor floats = dequantized(graph.value(node.inputs[0]).constant, *how);
      graph.value(y).dtype = DType::kFloat32;
      graph.value(y).shape = floats.shape();
      graph.value(y).constant = std::move(floats);
      node = Node{};
      continue;
    }
    const auto zero = std::ranges::find_if(how->zero_points, [](std::int32_t z) { return z != 0; });
    if (how->held_as != DType::kInt8 || zero != how->zero_points.end())
      fail("{}: Paddle's integers are int8 with zero point 0, this one is {} with zero point {}",
           describe(graph, node), name_of(how->held_as),
           zero == how->zero_points.end() ? 0 : static_cast<int>(*zero));
    Tensor abs_max(DType::kFloat32, {static_cast<std::int64_t>(how->steps.size())});
    for (std::size_t i = 0; float& value : abs_max.mutable_data<float>()) value = how->abs_max(i++);
    node.inputs = {node.inputs[0],
                   graph.add_constant(fmt::format("{}.abs_max", graph.value(y).name), abs_max)};
    node.attrs["unit"] = "abs_max";
    node.attrs["axis"] = how->axis;
    node.source = -1;
  }
  std::erase_if(graph.nodes, [](const Node& node) { return node.op.empty(); });
}

}  // namespace octet
