#include "quant/trained.h"

#include <cmath>

#include "base/error.h"
#include "graph/op_table.h"
#include "passes/epilogues.h"
#include "quant/fold.h"
#include "quant/insert.h"

namespace octet::quant {

namespace {

ValueId find_weight(const Graph& graph, const std::string& name) {
  for (const Node& node : graph.nodes)
    if (weight_axis(graph, node) >= 0 && graph.value(node.inputs[1]).name == name) return node.inputs[1];
  return kNoValue;
}

// By what folding has multiplied each channel of the weights: told by its largest element.
std::vector<float> folded_factors(const Tensor& before, const Tensor& after, std::int64_t axis) {
  const Tensor x = before.aligned(), y = after.aligned();
  auto from = x.data<float>(), to = y.data<float>();
  const auto channels = static_cast<std::size_t>(before.dim(static_cast<int>(axis)));
  std::vector<float> largest(channels, 0), factors(channels, 1);
  for_channels(before.shape(), axis, [&](std::size_t c, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      if (std::fabs(from[i]) <= largest[c]) continue;
      largest[c] = std::fabs(from[i]);
      factors[c] = to[i] / from[i];
    }
  });
  return factors;
}

// The trained integers, with the factors of folding in their scales.
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

float number(const paddle::StateDict& state, const std::string& name) {
  const Tensor tensor = state.at(name).aligned();
  if (tensor.size() < 1) fail("{} is empty", name);
  return tensor.cast(DType::kFloat32).data<float>()[0];
}

int bits_in(const paddle::StateDict& state, const std::string& name) {
  const auto bits = static_cast<int>(number(state, name));
  if (bits < 2 || bits > 8) fail("{} is {}, expected 2 to 8", name, bits);
  return bits;
}

}  // namespace

std::string layer_name(const std::string& weight) {
  constexpr std::string_view kSuffix = ".weight";
  return weight.ends_with(kSuffix) ? weight.substr(0, weight.size() - kSuffix.size()) : weight;
}

std::int64_t weight_axis(const Graph& graph, const Node& node) {
  if (node.inputs.size() < 2 || node.inputs[1] == kNoValue) return -1;
  const Value& weight = graph.value(node.inputs[1]);
  if (!weight.is_constant() || weight.dtype != DType::kFloat32) return -1;
  const bool is_product = weight.shape.size() == 2 &&
                          ((node.op == "matmul" && !attr<bool>(node, "transpose_x")) ||
                           (node.op == "matmul_flat" && attr<std::int64_t>(node, "y_num_col_dims") == 1));
  return node.op == "conv2d" || is_product ? weight_channel_axis(node) : -1;
}

Graph deployable(Graph graph, const std::vector<TrainedLayer>& layers, bool onnx_format) {
  std::map<std::string, Tensor> before;
  for (const TrainedLayer& layer : layers) {
    const ValueId id = find_weight(graph, layer.weight);
    check(id != kNoValue, "a trained layer is not in the graph");
    before[layer.weight] = graph.value(id).constant;
  }
  fold_batch_norms_in_file(graph);
  infer_shapes(graph);

  InsertionPoints points;
  std::map<ValueId, Quantization> activations;
  std::map<ValueId, QuantizedWeight> weights;
  for (const TrainedLayer& layer : layers) {
    for (int i = 0; i < static_cast<int>(graph.nodes.size()); ++i) {
      const Node& node = graph.nodes[static_cast<std::size_t>(i)];
      const std::int64_t axis = weight_axis(graph, node);
      if (axis < 0 || graph.value(node.inputs[1]).name != layer.weight) continue;
      points.layers.push_back({.node = i, .axis = axis});
      points.inputs.insert({i, 0});
      const auto known = activations.find(node.inputs[0]);
      const float before_it = known == activations.end() ? 0 : known->second.abs_max();
      activations[node.inputs[0]] =
          Quantization::of_abs_max(std::max(before_it, layer.input_abs_max), layer.input_bits);
      const Tensor& folded = graph.value(node.inputs[1]).constant;
      weights[node.inputs[1]] =
          fold(layer.quantized, folded_factors(before.at(layer.weight), folded, axis), axis);
    }
  }
  insert_quantization(graph, points, activations, weights, onnx_format);
  infer_shapes(graph);
  return graph;
}

std::vector<TrainedLayer> trained_layers(const Graph& graph, const paddle::StateDict& state) {
  std::vector<TrainedLayer> layers;
  for (const Node& node : graph.nodes) {
    const std::int64_t axis = weight_axis(graph, node);
    if (axis < 0) continue;
    const Value& weight = graph.value(node.inputs[1]);
    const std::string name = layer_name(weight.name);
    if (!state.find(name + "._fake_quant_input._scale")) continue;
    TrainedLayer layer{.weight = weight.name};
    layer.input_abs_max = number(state, name + "._fake_quant_input._scale");
    if (state.find(name + "._act_preprocess.alpha"))
      layer.input_abs_max = std::min(layer.input_abs_max, number(state, name + "._act_preprocess.alpha"));
    if (!(layer.input_abs_max > 0)) fail("{}: the range of its input is {}", name, layer.input_abs_max);
    layer.input_bits = bits_in(state, name + "._fake_quant_input._bits");
    const Tensor scale = state.at(name + "._fake_quant_weight._scale").aligned();
    const std::int64_t channels = weight.shape[static_cast<std::size_t>(axis)];
    if (scale.dtype() != DType::kFloat32 || (scale.size() != 1 && scale.size() != channels))
      fail("{}._fake_quant_weight._scale has {} elements, expected 1 or {}", name, scale.size(), channels);
    layer.quantized = quantize_weight(
        weight.constant,
        Quantization::of_abs_max(scale.data<float>(), bits_in(state, name + "._fake_quant_weight._bits"),
                                 scale.size() == 1 ? -1 : axis));
    layers.push_back(std::move(layer));
  }
  return layers;
}

}  // namespace octet::quant
