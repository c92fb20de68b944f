#include "quant/threshold_search.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "quant/bias_correction.h"
#include "quant/output_error.h"

namespace octet::quant {

namespace {

using Choices = std::map<ValueId, Choice>;

// What each method would choose for each tensor.
std::vector<Choices> choices_of(std::span<const ThresholdMethod> methods, const Graph& graph,
                                const Decisions& decisions, const Calibration& calibration,
                                const ThresholdOptions& options, ThreadPool& pool) {
  const std::set<ValueId> tensors = decisions.points.tensors(graph);
  const std::vector<ValueId> ids(tensors.begin(), tensors.end());
  std::vector<std::vector<float>> found(methods.size(), std::vector<float>(ids.size()));
  pool.parallel_for(static_cast<std::int64_t>(ids.size()), [&](std::int64_t i) {
    const auto at = static_cast<std::size_t>(i);
    const std::string& name = graph.value(ids[at]).name;
    auto statistics = calibration.tensors.find(name);
    // A tensor that never had elements: any threshold will do.
    if (statistics != calibration.tensors.end() && statistics->second.empty() &&
        statistics->second.not_finite == 0) {
      for (auto& of_method : found) of_method[at] = 1;
      return;
    }
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
  for (const auto& [id, shift] : decisions.shifts)
    for (Choices& choices : result)
      if (choices.contains(id)) choices[id] = {"shifted", shift.threshold};
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

// What each candidate does to the layers that read its tensor, tried on a sample.
class Trials {
 public:
  Trials(const Graph& graph, const Decisions& decisions, std::map<ValueId, std::vector<Choice>> candidates,
         const CalibrationSample& sample, ThreadPool& pool, const Progressed& progress)
      : graph_(graph), layers_(decisions.points.layers), candidates_(std::move(candidates)) {
    std::set<ValueId> tensors;
    for (const auto& [id, list] : candidates_) {
      tensors.insert(id);
      errors_[id].resize(list.size());
    }
    TensorRunner runner(graph, layer_tensors(graph, decisions.points, tensors), pool);
    LayerRunners alone_with(graph, decisions.weights, decisions.bits, pool);
    std::int64_t done = 0;
    for (const auto& inputs : sample) {
      progress(done++, static_cast<std::int64_t>(sample.size()));
      runner.run(inputs);
      add(decisions, runner, alone_with);
    }
  }

  // For each tensor the candidate that changes the outputs of the layers that read it least; where no layer
  // reads it, the tensor itself.
  std::map<ValueId, Choice> best_of_each() const {
    std::map<ValueId, Choice> best;
    for (const auto& [id, list] : candidates_) {
      const std::vector<double>& e = errors_.at(id);
      best[id] = list[static_cast<std::size_t>(std::min_element(e.begin(), e.end()) - e.begin())];
    }
    return best;
  }

  // The bias corrections of layers that read with these thresholds, or rather with the candidates nearest to
  // them: tensors that hand integers on share one.
  std::map<ValueId, std::vector<double>> corrections(const Decisions& decisions) const {
    std::map<ValueId, std::vector<double>> result;
    for (const Layer& layer : layers_) {
      const Node& node = node_of(graph_, layer);
      const auto tried = shifts_.find(node.outputs[0]);
      const auto used = decisions.activations.find(node.inputs[0]);
      if (tried == shifts_.end() || used == decisions.activations.end()) continue;
      const std::vector<Choice>& list = candidates_.at(node.inputs[0]);
      const auto nearest = std::ranges::min_element(
          list, {}, [&](const Choice& c) { return std::fabs(c.threshold - used->second.abs_max()); });
      const ShiftEstimate& shift = tried->second[static_cast<std::size_t>(nearest - list.begin())];
      if (!shift.empty()) result[node.outputs[0]] = shift.result();
    }
    return result;
  }

 private:
  void add(const Decisions& decisions, const TensorRunner& runner, LayerRunners& alone_with) {
    std::set<ValueId> judged;
    for (const Layer& layer : layers_) {
      const Node& node = node_of(graph_, layer);
      const ValueId x = node.inputs[0], y = node.outputs[0];
      const auto list = candidates_.find(x);
      if (!layer.weights || list == candidates_.end()) continue;
      const ShiftEstimate::Means expected = ShiftEstimate::means_of(runner[y]);
      std::vector<ShiftEstimate>& shifts = shifts_[y];
      shifts.resize(list->second.size());
      for (std::size_t c = 0; c < shifts.size(); ++c) {
        const Tensor found = alone_with(layer).run(runner[x], list->second[c].threshold);
        errors_[x][c] += relative_error(found, runner[y]);
        shifts[c].add(expected, ShiftEstimate::means_of(found));
      }
      judged.insert(x);
    }
    for (const auto& [id, list] : candidates_) {
      if (judged.contains(id)) continue;
      for (std::size_t c = 0; c < list.size(); ++c)
        errors_[id][c] += relative_error(
            fake_quantized(runner[id], Quantization::of_abs_max(list[c].threshold, decisions.bits)),
            runner[id]);
    }
  }

  const Graph& graph_;
  const std::vector<Layer>& layers_;
  const std::map<ValueId, std::vector<Choice>> candidates_;
  std::map<ValueId, std::vector<double>> errors_;         // by the tensor that is read
  std::map<ValueId, std::vector<ShiftEstimate>> shifts_;  // by the tensor that a layer makes
};

// What is best for each layer need not be best for all of them together: of these, the one that is best for
// the whole model. Judged by the finished model, with its biases corrected, for clipping looks better without
// that; and on pictures that the corrections have not seen.
Choices best_of_all(const std::vector<Choices>& all, const Graph& graph, Decisions decisions,
                    const Trials* corrected_by, const CalibrationSample& sample, ThreadPool& pool,
                    const Progressed& progress) {
  double least = -1;
  Choices best;
  OutputError output(graph, sample, pool);
  std::int64_t done = 0;
  for (const Choices& choices : all) {
    progress(done++, static_cast<std::int64_t>(all.size()));
    decisions.use(choices);
    if (corrected_by) decisions.corrections = corrected_by->corrections(decisions);
    const double error = output.of(quantized_graph(graph, decisions));
    if (least >= 0 && error >= least) continue;
    least = error;
    best = choices;
  }
  return best;
}

}  // namespace

void find_thresholds(const Graph& graph, const ThresholdMethod* method, const ThresholdOptions& options,
                     bool corrects_biases, const Calibration& calibration, Decisions* decisions,
                     ThreadPool& pool, const StageProgressed& progress) {
  auto stage = [&](const char* name) {
    return [&progress, name](std::int64_t done, std::int64_t total) { progress(name, done, total); };
  };
  const auto methods = method ? std::span(method, 1) : threshold_methods();
  std::vector<Choices> all = choices_of(methods, graph, *decisions, calibration, options, pool);
  if (!method) {
    const CalibrationSample& sample = calibration.sample;
    const auto half = sample.begin() + static_cast<std::ptrdiff_t>((sample.size() + 1) / 2);
    const CalibrationSample first(sample.begin(), half), second(half, sample.end());
    const Trials trials(graph, *decisions, candidates_of(all), first, pool,
                        stage("thresholds of each tensor"));
    all.push_back(trials.best_of_each());
    all = {best_of_all(all, graph, *decisions, corrects_biases ? &trials : nullptr,
                       second.empty() ? first : second, pool, stage("thresholds of the model"))};
  }
  decisions->choices = all[0];
  decisions->use(decisions->choices);
}

}  // namespace octet::quant
