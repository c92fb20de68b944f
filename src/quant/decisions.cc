#include "quant/decisions.h"

#include <algorithm>

#include "base/error.h"
#include "graph/op_table.h"
#include "passes/uses.h"
#include "quant/insert.h"
#include "quant/shift_inputs.h"

namespace octet::quant {

void add_to_channels(Graph& graph, ValueId made, const std::vector<double>& numbers, std::int64_t axis) {
  Uses uses(graph);
  auto count = static_cast<std::int64_t>(numbers.size());
  if (uses.only_for_one(made)) {
    Node& next = graph.nodes[static_cast<std::size_t>(uses.consumers(made)[0])];
    ValueId constant = next.op == "add" && next.inputs[0] == made ? next.inputs[1] : kNoValue;
    if (constant != kNoValue && graph.value(constant).is_constant() &&
        graph.value(constant).constant.size() == count && graph.value(constant).dtype == DType::kFloat32 &&
        uses.consumers(constant).size() == 1) {
      Tensor sum = graph.value(constant).constant.clone();
      auto data = sum.mutable_data<float>();
      for (std::size_t c = 0; c < numbers.size(); ++c)
        data[c] = static_cast<float>(static_cast<double>(data[c]) + numbers[c]);
      graph.value(constant).constant = std::move(sum);
      return;
    }
  }
  Tensor tensor(DType::kFloat32, {count});
  for (std::size_t c = 0; c < numbers.size(); ++c)
    tensor.mutable_data<float>()[c] = static_cast<float>(numbers[c]);
  std::string name = graph.value(made).name;
  ValueId before = graph.add_value(name + ".uncorrected", DType::kFloat32, Shape(graph.value(made).shape));
  ValueId correction = graph.add_constant(name + ".correction", std::move(tensor));
  int producer = uses.producer(made);
  check(producer >= 0, "a layer's output has a maker");
  Node& maker = graph.nodes[static_cast<std::size_t>(producer)];
  std::replace(maker.outputs.begin(), maker.outputs.end(), made, before);
  graph.nodes.insert(
      graph.nodes.begin() + producer + 1,
      Node{.op = "add", .inputs = {before, correction}, .outputs = {made}, .attrs = {{"axis", axis}}});
}

void Decisions::use(const std::map<ValueId, Choice>& found) {
  for (const auto& [id, choice] : found) activations[id] = Quantization::of_abs_max(choice.threshold, bits);
  for (bool changed = true; changed;) {
    changed = false;
    for (const std::vector<ValueId>& group : points.same_threshold) {
      float largest = 0;
      for (ValueId id : group)
        if (activations.contains(id)) largest = std::max(largest, activations[id].abs_max());
      for (ValueId id : group)
        if (activations.contains(id) && activations[id].abs_max() != largest) {
          activations[id] = Quantization::of_abs_max(largest, bits);
          changed = true;
        }
    }
  }
}

Graph quantized_graph(const Graph& graph, const Decisions& decisions, bool onnx_format) {
  Graph quantized = graph;
  insert_quantization(quantized, decisions.points, decisions.activations, decisions.weights, onnx_format);
  settle_shifts(quantized, decisions.shifts);
  for (const auto& [made, numbers] : decisions.corrections)
    add_to_channels(quantized, made, numbers, graph.value(made).shape.size() == 4 ? 1 : -1);
  infer_shapes(quantized);
  verify(quantized);
  return quantized;
}

}  // namespace octet::quant
