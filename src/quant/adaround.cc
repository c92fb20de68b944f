#include "quant/adaround.h"

#include <algorithm>
#include <optional>

#include "quant/bias_correction.h"
#include "quant/rounding.h"

namespace octet::quant {

namespace {

constexpr std::size_t kBytesAtOnce = 256 << 20;  // of OutputRoundings

class Rounder {
 public:
  Rounder(const Graph& graph, Decisions& decisions, bool correct_biases, const CalibrationSample& sample,
          ThreadPool& pool)
      : graph_(graph), decisions_(decisions), correct_biases_(correct_biases), sample_(sample), pool_(pool) {}

  // `one_by_one`: each layer makes up for the errors of those before it.
  void run(bool one_by_one, const Progressed& progress) {
    const std::vector<std::vector<Layer>> turns = turns_of(one_by_one);
    std::int64_t done = 0, total = static_cast<std::int64_t>(turns.size() * sample_.size());
    for (const std::vector<Layer>& layers : turns) {
      round(layers, one_by_one, [&] { progress(done++, total); });
      if (one_by_one && correct_biases_)
        for (const Layer& layer : layers) correct_bias(node(layer).outputs[0]);
    }
  }

 private:
  // Layers that are rounded together. Those that share a weight always are. One by one, those that can't be
  // rounded have their turn, too, for their biases.
  std::vector<std::vector<Layer>> turns_of(bool one_by_one) const {
    std::vector<std::vector<Layer>> turns;
    std::map<ValueId, std::size_t> turn_of;  // of weights
    std::size_t bytes = 0;
    for (const Layer& layer : decisions_.points.layers) {
      if (!layer.weights) continue;
      const ValueId weight = weights_of(node(layer));
      const std::size_t more = OutputRounding::bytes(node(layer), graph_.value(weight).shape);
      if (more == 0 && !one_by_one) continue;
      auto known = turn_of.find(weight);
      if (known == turn_of.end()) {
        if (turns.empty() || one_by_one || bytes + more > kBytesAtOnce) turns.emplace_back(), bytes = 0;
        bytes += more;
        known = turn_of.emplace(weight, turns.size() - 1).first;
      }
      turns[known->second].push_back(layer);
    }
    return turns;
  }

  void round(const std::vector<Layer>& layers, bool one_by_one, const std::function<void()>& step) {
    std::map<ValueId, OutputRounding> roundings;  // by the weight
    std::vector<ValueId> read;
    for (const Layer& layer : layers) {
      const Node& n = node(layer);
      if (OutputRounding::bytes(n, graph_.value(weights_of(n)).shape) == 0) continue;
      roundings.try_emplace(weights_of(n), n, graph_.value(weights_of(n)).constant, layer.axis);
      if (std::find(read.begin(), read.end(), n.inputs[0]) == read.end()) read.push_back(n.inputs[0]);
    }
    if (roundings.empty()) return;
    TensorRunner floats(graph_, read, pool_);
    std::optional<TensorRunner> so_far;
    if (one_by_one) so_far.emplace(quantized_graph(graph_, decisions_), read, pool_);
    for (const auto& inputs : sample_) {
      step();
      floats.run(inputs);
      if (so_far) so_far->run(inputs);
      for_each(roundings, [&](ValueId weight, OutputRounding& rounding, ThreadPool& pool) {
        for (const Layer& layer : layers) {
          const Node& n = node(layer);
          if (weights_of(n) != weight) continue;
          const Tensor& exact = floats[n.inputs[0]];
          Tensor given = exact;
          if (so_far) given = fake_quantized((*so_far)[n.inputs[0]], decisions_.activations.at(n.inputs[0]));
          rounding.add(n, exact, given, static_cast<std::int64_t>(sample_.size()), pool);
        }
      });
    }
    for_each(roundings, [&](ValueId weight, OutputRounding& rounding, ThreadPool& pool) {
      rounding.round(&decisions_.weights.at(weight), correct_biases_, pool);
    });
  }

  // Several at a time, each in a thread; one alone in all of them.
  template <class Work>
  void for_each(std::map<ValueId, OutputRounding>& roundings, const Work& work) {
    if (roundings.size() == 1) return work(roundings.begin()->first, roundings.begin()->second, pool_);
    std::vector<std::pair<const ValueId, OutputRounding>*> all;
    for (auto& rounding : roundings) all.push_back(&rounding);
    pool_.parallel_for(static_cast<std::int64_t>(all.size()), [&](std::int64_t i) {
      ThreadPool alone(1);
      auto& [weight, rounding] = *all[static_cast<std::size_t>(i)];
      work(weight, rounding, alone);
    });
  }

  // By what the model, quantized as it is so far, makes of the sample.
  void correct_bias(ValueId made) {
    TensorRunner floats(graph_, {made}, pool_), so_far(quantized_graph(graph_, decisions_), {made}, pool_);
    ShiftEstimate shift;
    for (const auto& inputs : sample_) {
      floats.run(inputs);
      so_far.run(inputs);
      shift.add(ShiftEstimate::means_of(floats[made]), ShiftEstimate::means_of(so_far[made]));
    }
    if (!shift.empty()) decisions_.corrections[made] = shift.result();
  }

  const Node& node(const Layer& layer) const { return node_of(graph_, layer); }

  const Graph& graph_;
  Decisions& decisions_;
  const bool correct_biases_;
  const CalibrationSample& sample_;
  ThreadPool& pool_;
};

}  // namespace

void round_weights(const Graph& graph, Decisions* decisions, int weight_bits, bool correct_biases,
                   const CalibrationSample& sample, ThreadPool& pool, const Progressed& progress) {
  // The errors of 8-bit layers are mere noise, which a layer behind them would only learn by heart.
  Rounder(graph, *decisions, correct_biases, sample, pool).run(weight_bits < 8, progress);
}

}  // namespace octet::quant
