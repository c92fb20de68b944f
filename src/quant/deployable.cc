#include "quant/deployable.h"

#include <algorithm>
#include <cmath>

#include "graph/op_table.h"
#include "quant/decisions.h"
#include "quant/fake_quant.h"
#include "quant/fold.h"

namespace octet::quant {

namespace {

// Factors as single precision has them: rounded with the largest weight of their channel, as the folded float
// weights are. Scales in files depend on it, to the last bit.
std::vector<float> rounded(const std::vector<double>& factors, const Tensor& weight, std::int64_t axis) {
  auto values = weight.data<float>();
  std::vector<float> largest(factors.size(), 0), result(factors.size(), 1);
  for_channels(weight.shape(), axis, [&](std::size_t c, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i)
      if (std::fabs(values[i]) > std::fabs(largest[c])) largest[c] = values[i];
  });
  for (std::size_t c = 0; c < factors.size(); ++c)
    if (largest[c] != 0)
      result[c] = static_cast<float>(static_cast<double>(largest[c]) * factors[c]) / largest[c];
  return result;
}

// The trained integers, with the factors of folding in their steps: one per channel.
QuantizedWeight fold(const QuantizedWeight& weight, const std::vector<float>& factors, std::int64_t axis) {
  const Quantization& old = weight.quantization;
  std::vector<float> abs_max;
  for (std::size_t c = 0; c < factors.size(); ++c)
    abs_max.push_back(std::max(old.abs_max(c) * std::fabs(factors[c]), 1e-30f));
  QuantizedWeight result{weight.integers.clone(), Quantization::of_abs_max(abs_max, old.bits, axis)};
  auto integers = result.integers.mutable_data<std::int8_t>();
  for_channels(result.integers.shape(), axis, [&](std::size_t c, std::size_t begin, std::size_t end) {
    if (factors[c] >= 0) return;
    for (std::size_t i = begin; i < end; ++i) integers[i] = static_cast<std::int8_t>(-integers[i]);
  });
  return result;
}

float range_of(const Graph& graph, const Node& fake_quant) {
  const auto number = [&](std::size_t slot) {
    return graph.value(fake_quant.inputs[slot]).constant.data<float>()[0];
  };
  const bool is_clipped = input_of(fake_quant, "alpha") != kNoValue;
  return is_clipped ? std::min(number(1), number(2)) : number(1);
}

}  // namespace

Graph deployable(Graph graph, bool onnx_format) {
  const std::vector<TrainedLayer> layers = trained_layers(graph);
  if (layers.empty()) return graph;
  Decisions decisions;
  std::map<ValueId, Tensor> floats;             // by the weights before they are folded,
  std::map<ValueId, QuantizedWeight> integers;  // as are these
  for (const auto& [node, input, weight] : layers) {
    const ValueId x = input->inputs[0], w = weight->inputs[0];
    decisions.activations[x] = Quantization::of_abs_max(range_of(graph, *input), attr<int>(*input, "bits"));
    floats[w] = graph.value(w).constant.aligned();
    const Tensor abs_max = graph.value(input_of(*weight, "scale")).constant.aligned();
    integers[w] =
        quantize_weight(floats[w], Quantization::of_abs_max(abs_max.data<float>(), attr<int>(*weight, "bits"),
                                                            attr<std::int64_t>(*weight, "axis")));
  }
  graph = float_graph(std::move(graph));
  const std::map<ValueId, FoldedWeight> folded = fold_batch_norms_in_file(graph);
  infer_shapes(graph);
  for (int i = 0; i < static_cast<int>(graph.nodes.size()); ++i) {
    const Node& node = graph.nodes[static_cast<std::size_t>(i)];
    const std::int64_t axis = weight_axis(graph, node);
    if (axis < 0) continue;
    const auto fold_of = folded.find(weights_of(node));
    const ValueId was = fold_of == folded.end() ? weights_of(node) : fold_of->second.was;
    const auto trained = integers.find(was);
    if (trained == integers.end()) continue;
    const auto channels = graph.value(weights_of(node)).shape[static_cast<std::size_t>(axis)];
    const std::vector<double> factors = fold_of == folded.end()
                                            ? std::vector<double>(static_cast<std::size_t>(channels), 1)
                                            : fold_of->second.factors;
    decisions.points.layers.push_back({.node = i, .axis = axis});
    decisions.points.inputs.insert({i, 0});
    decisions.weights[weights_of(node)] = fold(trained->second, rounded(factors, floats.at(was), axis), axis);
  }
  return quantized_graph(graph, decisions, onnx_format);
}

}  // namespace octet::quant
