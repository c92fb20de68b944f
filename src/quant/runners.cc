#include "quant/runners.h"

#include "kernels/quantizer.h"

namespace octet::quant {

namespace {

Graph with_outputs(const Graph& graph, const std::vector<ValueId>& outputs) {
  Graph result = graph;
  result.outputs = outputs;
  return result;
}

Graph layer_graph(const Graph& graph, const Layer& layer, const Tensor& weight, int bits) {
  const Node& node = node_of(graph, layer);
  Graph part;
  ValueId x = part.add_value("x", DType::kFloat32, graph.value(node.inputs[0]).shape);
  ValueId scale = part.add_value("scale", DType::kFloat32, {1});
  ValueId rounded = part.add_value("rounded", DType::kFloat32, graph.value(node.inputs[0]).shape);
  ValueId y = part.add_value("y", DType::kFloat32, graph.value(node.outputs[0]).shape);
  part.nodes.push_back({.op = "fake_quant",
                        .inputs = {x, scale},
                        .outputs = {rounded},
                        .attrs = {{"bits", std::int64_t{bits}}, {"rounding", "even"}}});
  part.nodes.push_back({.op = node.op,
                        .inputs = {rounded, part.add_constant("w", weight)},
                        .outputs = {y},
                        .attrs = node.attrs});
  part.inputs = {x, scale};
  part.outputs = {y};
  return part;
}

}  // namespace

TensorRunner::TensorRunner(const Graph& graph, const std::vector<ValueId>& wanted, ThreadPool& pool)
    : wanted_(wanted), session_(prepare(with_outputs(graph, wanted), {}), pool) {}

void TensorRunner::run(const std::vector<Tensor>& inputs) {
  std::vector<Tensor> outputs = session_.run(inputs);
  for (std::size_t i = 0; i < wanted_.size(); ++i) tensors_[wanted_[i]] = outputs[i];
}

LayerRunner::LayerRunner(const Graph& graph, const Layer& layer, const Tensor& weight, int bits,
                         ThreadPool& pool)
    : session_(prepare(layer_graph(graph, layer, weight, bits), {}), pool) {}

Tensor LayerRunner::run(const Tensor& x, float threshold) {
  return session_.run({x, Tensor::of<float>({1}, {threshold})})[0];
}

LayerRunner& LayerRunners::operator()(const Layer& layer) {
  auto [it, fresh] = runners_.try_emplace(layer.node);
  ValueId weight = weights_of(node_of(graph_, layer));
  if (fresh)
    it->second =
        std::make_unique<LayerRunner>(graph_, layer, dequantize_weight(weights_.at(weight)), bits_, pool_);
  return *it->second;
}

std::vector<ValueId> layer_tensors(const Graph& graph, const InsertionPoints& points,
                                   std::set<ValueId> tensors) {
  for (const Layer& layer : points.layers) {
    const Node& node = node_of(graph, layer);
    tensors.insert(node.inputs[0]);
    tensors.insert(node.outputs[0]);
  }
  return {tensors.begin(), tensors.end()};
}

Tensor fake_quantized(const Tensor& x, const Quantization& how) {
  const Quantizer quantizer(how);
  Tensor result(DType::kFloat32, x.shape());
  std::span<float> y = result.mutable_data<float>();
  quantize_run(x.data<float>().data(), x.size(), quantizer, y.data());
  const float abs_max = how.abs_max();
  for (float& value : y) value = value * abs_max / quantizer.high;
  return result;
}

}  // namespace octet::quant
