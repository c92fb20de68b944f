#include "quant/bias_correction.h"

#include <algorithm>

namespace octet::quant {

namespace {

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

}  // namespace

std::map<ValueId, std::vector<double>> find_corrections(const Graph& graph, const Decisions& decisions,
                                                        const CalibrationSample& sample, ThreadPool& pool,
                                                        const Progressed& progress) {
  TensorRunner runner(graph, layer_tensors(graph, decisions.points), pool);
  LayerRunners alone_with(graph, decisions.weights, decisions.bits, pool);
  std::map<ValueId, ShiftEstimate> shifts;
  std::int64_t done = 0;
  for (const auto& inputs : sample) {
    progress(done++, static_cast<std::int64_t>(sample.size()));
    runner.run(inputs);
    for (const Layer& layer : decisions.points.layers) {
      const Node& node = node_of(graph, layer);
      auto input = decisions.activations.find(node.inputs[0]);
      if (!layer.weights || input == decisions.activations.end()) continue;
      Tensor found = alone_with(layer).run(runner[node.inputs[0]], input->second.abs_max());
      shifts[node.outputs[0]].add(ShiftEstimate::means_of(runner[node.outputs[0]]),
                                  ShiftEstimate::means_of(found));
    }
  }
  std::map<ValueId, std::vector<double>> result;
  for (const auto& [id, shift] : shifts)
    if (!shift.empty()) result[id] = shift.result();
  return result;
}

ShiftEstimate::Means ShiftEstimate::means_of(const Tensor& tensor) {
  if (tensor.size() == 0) return {};  // a network may cut all of its data away
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

}  // namespace octet::quant
