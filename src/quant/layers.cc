#include "quant/layers.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/quantizer.h"
#include "metrics/compare.h"

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

// Σ over samples of |a - b|² / |b|²: a sample counts the same whether its values are large or small.
double relative_error(const Tensor& a, const Tensor& b) {
  auto x = a.data<float>(), y = b.data<float>();
  auto samples = static_cast<std::size_t>(b.rank() > 0 ? std::max<std::int64_t>(b.dim(0), 1) : 1);
  std::size_t size = y.size() / samples;
  double result = 0;
  for (std::size_t s = 0; s < samples; ++s) {
    double noise = 0, power = 1e-30;
    for (std::size_t at = s * size; at < (s + 1) * size; at += 1024) {
      float n = 0, p = 0;
      for (std::size_t i = at; i < std::min(at + 1024, (s + 1) * size); ++i) {
        n += (x[i] - y[i]) * (x[i] - y[i]);
        p += y[i] * y[i];
      }
      noise += static_cast<double>(n), power += static_cast<double>(p);
    }
    result += noise / power;
  }
  return result;
}

// Of many small sums, which do not wait for each other.
double sum_of(std::span<const float> x) {
  constexpr std::size_t kLanes = 8;
  double sums[kLanes] = {}, sum = 0;
  std::size_t i = 0;
  for (; i + kLanes <= x.size(); i += kLanes)
    for (std::size_t lane = 0; lane < kLanes; ++lane) sums[lane] += static_cast<double>(x[i + lane]);
  for (; i < x.size(); ++i) sum += static_cast<double>(x[i]);
  for (double lane : sums) sum += lane;
  return sum;
}

// The share of elements that are not the same.
double different_share(const Tensor& a, const Tensor& b) {
  if (a.empty() || a.size_bytes() != b.size_bytes()) return 1;
  const std::byte *x = a.bytes().data(), *y = b.bytes().data();
  std::size_t size = a.size_bytes() / static_cast<std::size_t>(a.size()), different = 0;
  for (std::size_t at = 0; at < a.size_bytes(); at += size)
    different += std::memcmp(x + at, y + at, size) != 0;
  return static_cast<double>(different) / static_cast<double>(a.size());
}

std::vector<ValueId> layer_tensors(const Graph& graph, const Points& points, std::set<ValueId> tensors) {
  for (const Layer& layer : points.layers) {
    const Node& node = node_of(graph, layer);
    tensors.insert(node.inputs[0]);
    tensors.insert(node.outputs[0]);
  }
  return {tensors.begin(), tensors.end()};
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
  ValueId weight = node_of(graph_, layer).inputs[1];
  if (fresh)
    it->second =
        std::make_unique<LayerRunner>(graph_, layer, dequantize_weight(weights_.at(weight)), bits_, pool_);
  return *it->second;
}

std::map<ValueId, Choice> choose_thresholds(const Graph& graph, const Decisions& decisions,
                                            const std::map<ValueId, std::vector<Choice>>& candidates,
                                            const Sample& sample, ThreadPool& pool,
                                            const Progressed& progress) {
  std::map<ValueId, std::vector<double>> errors;
  std::set<ValueId> tensors;
  for (const auto& [id, list] : candidates) {
    tensors.insert(id);
    errors[id].resize(list.size());
  }
  TensorRunner runner(graph, layer_tensors(graph, decisions.points, tensors), pool);
  LayerRunners alone_with(graph, decisions.weights, decisions.bits, pool);
  std::int64_t done = 0;
  for (const auto& inputs : sample) {
    progress(done++, static_cast<std::int64_t>(sample.size()));
    runner.run(inputs);
    std::set<ValueId> judged;
    for (const Layer& layer : decisions.points.layers) {
      const Node& node = node_of(graph, layer);
      auto it = candidates.find(node.inputs[0]);
      if (!layer.weights || it == candidates.end()) continue;
      LayerRunner& alone = alone_with(layer);
      for (std::size_t c = 0; c < it->second.size(); ++c)
        errors[node.inputs[0]][c] += relative_error(
            alone.run(runner[node.inputs[0]], it->second[c].threshold), runner[node.outputs[0]]);
      judged.insert(node.inputs[0]);
    }
    for (const auto& [id, list] : candidates) {
      if (judged.contains(id)) continue;
      for (std::size_t c = 0; c < list.size(); ++c)
        errors[id][c] +=
            relative_error(quantized_values(runner[id], list[c].threshold, decisions.bits), runner[id]);
    }
  }
  std::map<ValueId, Choice> best;
  for (const auto& [id, list] : candidates) {
    const std::vector<double>& e = errors[id];
    best[id] = list[static_cast<std::size_t>(std::min_element(e.begin(), e.end()) - e.begin())];
  }
  return best;
}

std::map<ValueId, std::vector<double>> find_corrections(const Graph& graph, const Decisions& decisions,
                                                        const Sample& sample, ThreadPool& pool,
                                                        const Progressed& progress) {
  TensorRunner runner(graph, layer_tensors(graph, decisions.points, {}), pool);
  LayerRunners alone_with(graph, decisions.weights, decisions.bits, pool);
  std::map<ValueId, ShiftEstimate> shifts;
  std::int64_t done = 0;
  for (const auto& inputs : sample) {
    progress(done++, static_cast<std::int64_t>(sample.size()));
    runner.run(inputs);
    for (const Layer& layer : decisions.points.layers) {
      const Node& node = node_of(graph, layer);
      auto threshold = decisions.thresholds.find(node.inputs[0]);
      if (!layer.weights || threshold == decisions.thresholds.end()) continue;
      Tensor found = alone_with(layer).run(runner[node.inputs[0]], threshold->second);
      shifts[node.outputs[0]].add(ShiftEstimate::means_of(runner[node.outputs[0]]),
                                  ShiftEstimate::means_of(found));
    }
  }
  std::map<ValueId, std::vector<double>> result;
  for (const auto& [id, shift] : shifts) result[id] = shift.result();
  return result;
}

ShiftEstimate::Means ShiftEstimate::means_of(const Tensor& tensor) {
  bool image = tensor.rank() == 4;
  auto channels = static_cast<std::size_t>(tensor.dim(image ? 1 : -1));
  auto samples = static_cast<std::size_t>(tensor.rank() > 1 ? tensor.dim(0) : 1);
  Means means(samples, std::vector<double>(channels));
  auto data = tensor.data<float>();
  std::size_t size = data.size() / samples;
  for_channels(tensor.shape(), image ? 1 : tensor.rank() - 1,
               [&](std::size_t c, std::size_t begin, std::size_t end) {
                 double sum = sum_of(data.subspan(begin, end - begin));
                 means[begin / size][c] += sum * static_cast<double>(channels) / static_cast<double>(size);
               });
  return means;
}

void ShiftEstimate::add(const Means& expected, const Means& found) {
  for (std::size_t n = 0; n < expected.size(); ++n) {
    std::vector<double>& row = rows_.emplace_back(expected[n]);
    for (std::size_t c = 0; c < row.size(); ++c) row[c] -= found[n][c];
  }
}

std::vector<double> ShiftEstimate::result() const {
  std::vector<double> result(rows_.empty() ? 0 : rows_[0].size());
  auto count = static_cast<double>(rows_.size());
  for (std::size_t c = 0; c < result.size(); ++c) {
    double sum = 0, squares = 0;
    for (const auto& row : rows_) sum += row[c], squares += row[c] * row[c];
    double mean = sum / count;
    double variance = std::max(0.0, squares / count - mean * mean) / std::max(1.0, count - 1);  // of the mean
    result[c] = mean * mean > variance ? mean * (1 - variance / (mean * mean)) : 0;
  }
  return result;
}

OutputError::OutputError(const Graph& floats, const Sample& sample, ThreadPool& pool)
    : sample_(sample), pool_(pool) {
  TensorRunner runner(floats, floats.outputs, pool);
  for (const auto& inputs : sample) {
    runner.run(inputs);
    std::map<ValueId, Tensor>& expected = expected_.emplace_back();
    for (ValueId id : floats.outputs) expected[id] = runner[id].clone();
  }
}

double OutputError::of(const Graph& quantized) const {
  TensorRunner runner(quantized, quantized.outputs, pool_);
  double error = 0;
  for (std::size_t part = 0; part < sample_.size(); ++part) {
    runner.run(sample_[part]);
    error += error_of(part, quantized, runner);
  }
  return error;
}

double OutputError::of_part(std::size_t part, const Graph& rest, const std::vector<Tensor>& inputs) const {
  TensorRunner runner(rest, rest.outputs, pool_);
  runner.run(inputs);
  return error_of(part, rest, runner);
}

double OutputError::error_of(std::size_t part, const Graph& quantized, const TensorRunner& found) const {
  double error = 0;
  for (ValueId id : quantized.outputs) {
    const Tensor& expected = expected_[part].at(id);
    bool numbers = expected.dtype() == DType::kFloat32;
    error += numbers ? relative_error(found[id], expected) : different_share(found[id], expected);
  }
  return error;
}

Tensor quantized_values(const Tensor& x, float threshold, int bits) {
  Quantizer quantizer = Quantizer::of_abs_max(threshold, bits, false);
  Tensor result(DType::kFloat32, x.shape());
  std::span<float> y = result.mutable_data<float>();
  quantize_run(x.data<float>().data(), x.size(), quantizer, y.data());
  for (float& value : y) value = value * threshold / quantizer.high;
  return result;
}

std::map<ValueId, double> tensor_sqnr(const Graph& graph, const Decisions& decisions,
                                      const std::vector<ValueId>& tensors, const Sample& sample,
                                      ThreadPool& pool) {
  TensorRunner runner(graph, tensors, pool);
  std::vector<Comparer> comparers(tensors.size());
  for (const auto& inputs : sample) {
    runner.run(inputs);
    pool.parallel_for(static_cast<std::int64_t>(tensors.size()), [&](std::int64_t i) {
      ValueId id = tensors[static_cast<std::size_t>(i)];
      Tensor found = quantized_values(runner[id], decisions.thresholds.at(id), decisions.bits);
      comparers[static_cast<std::size_t>(i)].add(runner[id].data<float>(), found.data<float>());
    });
  }
  std::map<ValueId, double> result;
  for (std::size_t i = 0; i < tensors.size(); ++i) result[tensors[i]] = comparers[i].result().sqnr_db;
  return result;
}

}  // namespace octet::quant
