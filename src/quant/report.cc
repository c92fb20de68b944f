#include "quant/report.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "formats/format.h"
#include "graph/op_table.h"
#include "metrics/agreement.h"
#include "metrics/compare.h"
#include "quant/runners.h"

namespace octet::quant {

namespace {

// What is counted while both models run.
struct Measured {
  std::map<ValueId, Comparer> accumulated;        // by the tensor: both models as they are
  std::map<ValueId, Comparer> own;                // by what a layer makes: it alone is quantized
  std::map<ValueId, std::vector<float>> largest;  // of the channels of what layers read
  std::map<ValueId, Agreement> same;              // of outputs
};

void add_correction(Tensor& made, const std::vector<double>& correction) {
  auto data = made.mutable_data<float>();
  for_channels(made.shape(), made.rank() == 4 ? 1 : made.rank() - 1,
               [&](std::size_t c, std::size_t begin, std::size_t end) {
                 for (std::size_t i = begin; i < end; ++i) data[i] += static_cast<float>(correction[c]);
               });
}

Measured measure(const Graph& graph, const Decisions& decisions, const Graph& quantized,
                 const CalibrationSample& sample, ThreadPool& pool, const Progressed& progress) {
  constexpr std::int64_t kAlone = 16;  // pictures that each layer alone is run on
  std::set<ValueId> made(graph.outputs.begin(), graph.outputs.end());
  for (const Layer& layer : decisions.points.layers) made.insert(node_of(graph, layer).outputs[0]);
  const std::vector<ValueId> ids(made.begin(), made.end());
  TensorRunner floats(graph, layer_tensors(graph, decisions.points, made), pool),
      integers(quantized, ids, pool);
  LayerRunners alone_with(graph, decisions.weights, decisions.bits, pool);
  Measured measured;
  for (ValueId id : ids) measured.accumulated[id];
  std::int64_t done = 0, pictures = 0;
  for (const auto& inputs : sample) {
    progress(done++, static_cast<std::int64_t>(sample.size()));
    floats.run(inputs);
    integers.run(inputs);
    pool.parallel_for(static_cast<std::int64_t>(ids.size()), [&](std::int64_t i) {
      const ValueId id = ids[static_cast<std::size_t>(i)];
      if (floats[id].dtype() == DType::kFloat32)
        measured.accumulated.at(id).add(floats[id].data<float>(), integers[id].data<float>());
    });
    for (ValueId id : graph.outputs)
      if (floats[id].dtype() == DType::kFloat32) measured.same[id].add(floats[id], integers[id]);
    if (pictures >= kAlone) continue;
    pictures += pictures_in(inputs);
    for (const Layer& layer : decisions.points.layers) {
      const ValueId x = node_of(graph, layer).inputs[0], y = node_of(graph, layer).outputs[0];
      const auto how = decisions.activations.find(x);
      if (!layer.weights || how == decisions.activations.end()) continue;
      Tensor found = alone_with(layer).run(floats[x], how->second.abs_max());
      if (const auto shift = decisions.corrections.find(y); shift != decisions.corrections.end())
        add_correction(found, shift->second);
      measured.own[y].add(floats[y].data<float>(), found.data<float>());
      add_channel_maxima(floats[x], &measured.largest[x]);
    }
  }
  return measured;
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
  const bool has_others = !calibration.held_out.empty();
  const CalibrationSample& sample = has_others ? calibration.held_out : calibration.sample;
  report.judged_samples = pictures_in(sample);
  report.judged_on = has_others ? JudgedOn::kHeldOut : JudgedOn::kCalibration;
  const Measured measured = measure(graph, decisions, quantized, sample, pool, progress);
  constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
  for (ValueId id : graph.outputs) {
    const Comparison found = measured.accumulated.at(id).result();
    const auto same = measured.same.find(id);
    const double agreement = same == measured.same.end() ? kUnknown : same->second.share();
    report.outputs.push_back({graph.value(id).name, found.sqnr_db, found.cosine, agreement});
  }
  std::set<int> made_int;
  for (const Layer& layer : decisions.points.layers) {
    const ValueId input = node_of(graph, layer).inputs[0], made = node_of(graph, layer).outputs[0];
    LayerQuality quality;
    quality.name = graph.value(made).name;
    const Comparison accumulated = measured.accumulated.at(made).result();
    quality.sqnr_db = accumulated.sqnr_db;
    quality.cosine = accumulated.cosine;
    const auto own = measured.own.find(made);
    quality.own_sqnr_db = own == measured.own.end() ? kUnknown : own->second.result().sqnr_db;
    if (const auto largest = measured.largest.find(input); largest != measured.largest.end())
      quality.channel_spread = channel_spread(largest->second);
    quality.op = op_type(graph, node_of(graph, layer));
    quality.input = graph.value(input).name;
    quality.algorithm = decisions.choices.at(input).method;
    const auto shift = decisions.shifts.find(input);
    quality.threshold = shift == decisions.shifts.end()
                            ? static_cast<double>(decisions.activations.at(input).abs_max())
                            : shift->second.top;
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
