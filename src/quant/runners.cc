#include "quant/runners.h"

#include "kernels/quantizer.h"
#include "quant/chunks.h"

namespace octet::quant {

namespace {

Graph with_outputs(const Graph& graph, const std::vector<ValueId>& outputs) {
  Graph result = graph;
  result.outputs = outputs;
  return result;
}

ValueId dequantized(Graph& graph, ValueId integers, const Quantization& how) {
  const std::string name = graph.value(integers).name;
  const auto count = static_cast<std::int64_t>(how.steps.size());
  std::vector<float> abs_max;
  for (std::size_t c = 0; c < how.steps.size(); ++c) abs_max.push_back(how.abs_max(c));
  const ValueId scale = graph.add_constant(name + ".scale", Tensor::of<float>({count}, abs_max));
  const ValueId zero_points = graph.add_constant(
      name + ".zero_points", Tensor::of<std::int32_t>({count}, std::vector<std::int32_t>(how.steps.size())));
  const ValueId floats =
      graph.add_value(name + ".floats", DType::kFloat32, Shape(graph.value(integers).shape));
  graph.nodes.push_back({.op = "dequantize",
                         .inputs = {integers, scale, zero_points},
                         .outputs = {floats},
                         .attrs = {{"bits", std::int64_t{how.bits}}, {"axis", how.axis}}});
  return floats;
}

Graph layer_graph(const Graph& graph, const Layer& layer, const QuantizedWeight& weight, int bits) {
  const Node& node = node_of(graph, layer);
  Graph part;
  const ValueId x = part.add_value("x", DType::kInt8, graph.value(node.inputs[0]).shape);
  const ValueId w = part.add_constant("w", weight.integers);
  const ValueId y = part.add_value("y", DType::kFloat32, graph.value(node.outputs[0]).shape);
  const std::vector<ValueId> read = {dequantized(part, x, Quantization::of_abs_max(1.0f, bits)),
                                     dequantized(part, w, weight.quantization)};
  part.nodes.push_back({.op = node.op, .inputs = read, .outputs = {y}, .attrs = node.attrs});
  part.inputs = {x};
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

LayerRunner::LayerRunner(const Graph& graph, const Layer& layer, const QuantizedWeight& weight, int bits,
                         ThreadPool& pool)
    : bits_(bits), pool_(pool), session_(prepare(layer_graph(graph, layer, weight, bits), {}), pool) {}

Tensor LayerRunner::run(const Tensor& x, float threshold) {
  Tensor integers(DType::kInt8, x.shape());
  const Quantizer quantizer(Quantization::of_abs_max(threshold, bits_));
  const std::span<const float> floats = x.data<float>();
  std::int8_t* to = integers.mutable_data<std::int8_t>().data();
  pool_.parallel_for(chunks_of(floats.size()), [&](std::int64_t i) {
    const auto part = chunk(floats, i);
    quantize_run(part.data(), static_cast<std::int64_t>(part.size()), quantizer, to + i * kChunk);
  });
  Tensor y = session_.run({std::move(integers)})[0];
  const std::span<float> sums = y.mutable_data<float>();
  pool_.parallel_for(chunks_of(sums.size()), [&](std::int64_t i) {
    const auto begin = static_cast<std::size_t>(i * kChunk);
    for (float& sum : sums.subspan(begin, std::min(sums.size() - begin, std::size_t{kChunk})))
      sum *= threshold;
  });
  return y;
}

LayerRunner& LayerRunners::operator()(const Layer& layer) {
  auto [it, fresh] = runners_.try_emplace(layer.node);
  if (fresh)
    it->second = std::make_unique<LayerRunner>(graph_, layer, weights_.at(weights_of(node_of(graph_, layer))),
                                               bits_, pool_);
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
