#include "quant/report.h"

#include <algorithm>

#include "formats/format.h"
#include "graph/op_table.h"
#include "metrics/compare.h"
#include "quant/runners.h"

namespace octet::quant {

namespace {

std::map<ValueId, Comparison> compare(const Graph& graph, const Graph& quantized,
                                      const std::set<ValueId>& tensors, const CalibrationSample& sample,
                                      ThreadPool& pool, const Progressed& progress) {
  const std::vector<ValueId> ids(tensors.begin(), tensors.end());
  std::vector<Comparer> comparers(ids.size());
  TensorRunner floats(graph, ids, pool), integers(quantized, ids, pool);
  std::int64_t done = 0;
  for (const auto& inputs : sample) {
    progress(done++, static_cast<std::int64_t>(sample.size()));
    floats.run(inputs);
    integers.run(inputs);
    pool.parallel_for(static_cast<std::int64_t>(ids.size()), [&](std::int64_t i) {
      const auto at = static_cast<std::size_t>(i);
      const Tensor &expected = floats[ids[at]], &found = integers[ids[at]];
      if (expected.dtype() == DType::kFloat32) comparers[at].add(expected.data<float>(), found.data<float>());
    });
  }
  std::map<ValueId, Comparison> result;
  for (std::size_t i = 0; i < ids.size(); ++i) result[ids[i]] = comparers[i].result();
  return result;
}

// The share of a tensor's elements that are clipped. What lies less than half a step beyond the threshold is
// not changed more by clipping than others by rounding.
double clipped_share(const Calibration& calibration, const std::string& name, double threshold,
                     const Quantization& quantization) {
  const double limit = threshold * (1 + 0.5 / quantization.qmax());
  auto second = calibration.second_pass.find(name);
  if (second == calibration.second_pass.end())
    return calibration.tensors.at(name).histogram.share_above(limit);
  return second->second.share_above(limit);
}

}  // namespace

QuantizeReport make_report(const Graph& graph, const Decisions& decisions, const Graph& quantized,
                           const Calibration& calibration, ThreadPool& pool, const Progressed& progress) {
  QuantizeReport report;
  report.batches = calibration.batches;
  report.samples = calibration.pictures;
  std::set<ValueId> tensors(graph.outputs.begin(), graph.outputs.end());
  for (const Layer& layer : decisions.points.layers) tensors.insert(node_of(graph, layer).outputs[0]);
  const auto compared = compare(graph, quantized, tensors, calibration.sample, pool, progress);
  auto quality_of = [&](ValueId id) {
    LayerQuality quality;
    quality.name = graph.value(id).name;
    quality.sqnr_db = compared.at(id).sqnr_db;
    quality.cosine = compared.at(id).cosine;
    return quality;
  };
  for (ValueId id : graph.outputs) report.outputs.push_back(quality_of(id));
  std::set<int> made_int;
  for (const Layer& layer : decisions.points.layers) {
    const ValueId input = node_of(graph, layer).inputs[0];
    LayerQuality quality = quality_of(node_of(graph, layer).outputs[0]);
    quality.op = op_type(graph, node_of(graph, layer));
    quality.input = graph.value(input).name;
    quality.algorithm = decisions.choices.at(input).method;
    quality.threshold = static_cast<double>(decisions.activations.at(input).abs_max());
    const TensorStatistics& seen = calibration.tensors.at(quality.input);
    quality.min = static_cast<double>(seen.min);
    quality.max = static_cast<double>(seen.max);
    quality.clipped =
        clipped_share(calibration, quality.input, quality.threshold, decisions.activations.at(input));
    report.layers.push_back(std::move(quality));
    made_int.insert(layer.node);
  }
  for (int i = 0; i < static_cast<int>(graph.nodes.size()); ++i) {
    const Node& n = graph.nodes[static_cast<std::size_t>(i)];
    if (is_product(n) && !made_int.contains(i)) report.kept_float.push_back(graph.value(n.outputs[0]).name);
  }
  return report;
}

}  // namespace octet::quant
