#include "quant/threshold_search.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "quant/output_error.h"

namespace octet::quant {

namespace {

using Choices = std::map<ValueId, Choice>;

// What each method would choose for each tensor.
std::vector<Choices> choices_of(std::span<const ThresholdMethod> methods, const Graph& graph,
                                const InsertionPoints& points, const Calibration& calibration,
                                const ThresholdOptions& options, ThreadPool& pool) {
  const std::set<ValueId> tensors = points.tensors(graph);
  const std::vector<ValueId> ids(tensors.begin(), tensors.end());
  std::vector<std::vector<float>> found(methods.size(), std::vector<float>(ids.size()));
  pool.parallel_for(static_cast<std::int64_t>(ids.size()), [&](std::int64_t i) {
    const auto at = static_cast<std::size_t>(i);
    const std::string& name = graph.value(ids[at]).name;
    auto statistics = calibration.tensors.find(name);
    if (statistics == calibration.tensors.end() || statistics->second.empty())
      fail("{}: calibration never saw this tensor with finite values", name);
    auto second = calibration.second_pass.find(name);
    const Observed seen{statistics->second,
                        second == calibration.second_pass.end() ? nullptr : &second->second};
    for (std::size_t m = 0; m < methods.size(); ++m)
      found[m][at] = static_cast<float>(threshold_of(seen, methods[m], options));
  });
  std::vector<Choices> result(methods.size());
  for (std::size_t m = 0; m < methods.size(); ++m)
    for (std::size_t i = 0; i < ids.size(); ++i) result[m][ids[i]] = {methods[m].name, found[m][i]};
  return result;
}

// For each tensor the choices that differ.
std::map<ValueId, std::vector<Choice>> candidates_of(const std::vector<Choices>& methods) {
  std::map<ValueId, std::vector<Choice>> candidates;
  for (const Choices& choices : methods)
    for (const auto& item : choices) {
      const Choice& choice = item.second;
      std::vector<Choice>& different = candidates[item.first];
      if (std::none_of(different.begin(), different.end(), [&](const Choice& other) {
            return std::fabs(choice.threshold - other.threshold) <= 1e-3f * choice.threshold;
          }))
        different.push_back(choice);
    }
  return candidates;
}

// For each tensor the candidate that changes the outputs of the layers that read it least; where no layer
// reads it, the tensor itself.
Choices best_of_each(const Graph& graph, const Decisions& decisions,
                     const std::map<ValueId, std::vector<Choice>>& candidates,
                     const CalibrationSample& sample, ThreadPool& pool, const Progressed& progress) {
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
        errors[id][c] += relative_error(
            fake_quantized(runner[id], Quantization::of_abs_max(list[c].threshold, decisions.bits)),
            runner[id]);
    }
  }
  Choices best;
  for (const auto& [id, list] : candidates) {
    const std::vector<double>& e = errors[id];
    best[id] = list[static_cast<std::size_t>(std::min_element(e.begin(), e.end()) - e.begin())];
  }
  return best;
}

// What is best for each layer need not be best for all of them together: of these, the one that is best for
// the whole model.
Choices best_of_all(const std::vector<Choices>& all, const Graph& graph, Decisions decisions,
                    const CalibrationSample& sample, ThreadPool& pool, const Progressed& progress) {
  double least = -1;
  Choices best;
  OutputError output(graph, sample, pool);
  std::int64_t done = 0;
  for (const Choices& choices : all) {
    progress(done++, static_cast<std::int64_t>(all.size()));
    decisions.use(choices);
    double error = output.of(quantized_graph(graph, decisions));
    if (least >= 0 && error >= least) continue;
    least = error;
    best = choices;
  }
  return best;
}

}  // namespace

void find_thresholds(const Graph& graph, const ThresholdMethod* method, const ThresholdOptions& options,
                     const Calibration& calibration, Decisions* decisions, ThreadPool& pool,
                     const StageProgressed& progress) {
  auto stage = [&](const char* name) {
    return [&progress, name](std::int64_t done, std::int64_t total) { progress(name, done, total); };
  };
  const auto methods = method ? std::span(method, 1) : threshold_methods();
  std::vector<Choices> all = choices_of(methods, graph, decisions->points, calibration, options, pool);
  if (!method) {
    // Trying thresholds costs a run of each layer each.
    const CalibrationSample& sample = calibration.sample;
    const CalibrationSample half(sample.begin(),
                                 sample.begin() + static_cast<std::ptrdiff_t>((sample.size() + 1) / 2));
    all.push_back(
        best_of_each(graph, *decisions, candidates_of(all), half, pool, stage("thresholds of each tensor")));
    all = {best_of_all(all, graph, *decisions, half, pool, stage("thresholds of the model"))};
  }
  decisions->choices = all[0];
  decisions->use(decisions->choices);
}

}  // namespace octet::quant
