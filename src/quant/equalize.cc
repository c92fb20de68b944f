#include "quant/equalize.h"

#include <algorithm>
#include <cmath>

#include "passes/uses.h"

namespace octet::quant {

namespace {

// A convolution, what is added to its output, and the convolution that reads it.
struct Pair {
  int first = -1, second = -1;
  ValueId bias = kNoValue, between = kNoValue;  // between: what the second one reads
};

class Equalizer {
 public:
  explicit Equalizer(Graph& graph) : graph_(graph), uses_(graph) {}

  std::vector<Pair> pairs() const {
    std::vector<Pair> found;
    for (int i = 0; i < static_cast<int>(graph_.nodes.size()); ++i)
      if (is_own_conv(i))
        if (Pair pair = pair_from(i); pair.second >= 0) found.push_back(pair);
    return found;
  }

  void apply(const Pair& pair, const std::vector<float>& largest) {
    const Node &first = node(pair.first), &second = node(pair.second);
    const Shape& shape = graph_.value(second.inputs[1]).shape;
    bool depthwise = attr<std::int64_t>(second, "groups") > 1;
    std::vector<float> factors(largest.size());  // of the channels, in the second convolution
    Tensor weight = graph_.value(second.inputs[1]).constant.clone();
    std::span<float> w = weight.mutable_data<float>();
    std::vector<float> reach(largest.size());
    auto channel = [&](std::size_t i) {
      auto area = static_cast<std::size_t>(shape[2] * shape[3]);
      return depthwise ? i / area : i / area % static_cast<std::size_t>(shape[1]);
    };
    for (std::size_t i = 0; i < w.size(); ++i)
      reach[channel(i)] = std::max(reach[channel(i)], std::fabs(w[i]));
    double log_sum = 0;
    for (std::size_t c = 0; c < factors.size(); ++c) {
      factors[c] = largest[c] > 0 && reach[c] > 0 ? std::sqrt(largest[c] / reach[c]) : 0;
      log_sum += factors[c] > 0 ? std::log(static_cast<double>(factors[c])) : 0;
    }
    auto mean = static_cast<float>(std::exp(log_sum / static_cast<double>(factors.size())));
    for (float& factor : factors) factor = factor > 0 ? std::clamp(factor / mean, 0.01f, 100.0f) : 1.0f;
    for (std::size_t i = 0; i < w.size(); ++i) w[i] *= factors[channel(i)];
    graph_.value(second.inputs[1]).constant = std::move(weight);
    divide(first.inputs[1], factors);
    if (pair.bias != kNoValue) divide(pair.bias, factors);
  }

 private:
  const Node& node(int i) const { return graph_.nodes[static_cast<std::size_t>(i)]; }

  // A constant of floats that only one node reads, so that it may be changed.
  bool is_own_constant(ValueId id) const {
    const Value& value = graph_.value(id);
    return value.is_constant() && value.dtype == DType::kFloat32 && uses_.consumers(id).size() == 1;
  }
  bool is_own_conv(int i) const {
    return node(i).op == "conv2d" && node(i).inputs.size() == 2 && is_own_constant(node(i).inputs[1]);
  }

  Pair pair_from(int i) const {
    Pair pair{i};
    ValueId made = node(i).outputs[0];
    std::int64_t channels = graph_.value(node(i).inputs[1]).shape[0];
    while (uses_.only_for_one(made)) {
      int next = uses_.consumers(made)[0];
      const Node& reader = node(next);
      if (reader.op == "conv2d") {
        const Shape& weight = graph_.value(reader.inputs[1]).shape;
        std::int64_t groups = attr<std::int64_t>(reader, "groups");
        bool fits = is_own_conv(next) && reader.inputs[0] == made &&
                    (groups == 1 || (groups == channels && weight[0] == channels));
        if (fits) pair.second = next;
        break;
      }
      if (reader.op == "add" && pair.bias == kNoValue && reader.inputs[0] == made &&
          is_own_constant(reader.inputs[1]) && graph_.value(reader.inputs[1]).constant.size() == channels &&
          attr<std::int64_t>(reader, "axis") == 1 && node(i).outputs[0] == made)
        pair.bias = reader.inputs[1];
      else if (reader.op != "relu" && reader.op != "leaky_relu")
        break;
      made = reader.outputs[0];
    }
    pair.between = made;
    return pair;
  }

  // Each channel (the first dimension) by its factor.
  void divide(ValueId id, const std::vector<float>& factors) {
    Tensor tensor = graph_.value(id).constant.clone();
    std::span<float> data = tensor.mutable_data<float>();
    std::size_t inner = data.size() / factors.size();
    for (std::size_t i = 0; i < data.size(); ++i) data[i] /= factors[i / inner];
    graph_.value(id).constant = std::move(tensor);
  }

  Graph& graph_;
  Uses uses_;
};

}  // namespace

int equalize(Graph& graph, const Sample& sample, ThreadPool& pool) {
  Equalizer equalizer(graph);
  std::vector<Pair> pairs = equalizer.pairs();
  if (pairs.empty() || sample.empty()) return 0;
  std::vector<ValueId> between;
  for (const Pair& pair : pairs) between.push_back(pair.between);
  TensorRunner runner(graph, between, pool);
  std::map<ValueId, std::vector<float>> largest;
  for (const auto& inputs : sample) {
    runner.run(inputs);
    for (ValueId id : between) {
      const Tensor& x = runner[id];
      std::vector<float>& all = largest[id];
      all.resize(static_cast<std::size_t>(x.dim(1)));
      auto data = x.data<float>();
      for_channels(x.shape(), 1, [&](std::size_t c, std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) all[c] = std::max(all[c], std::fabs(data[i]));
      });
    }
  }
  for (const Pair& pair : pairs) equalizer.apply(pair, largest[pair.between]);
  return static_cast<int>(pairs.size());
}

}  // namespace octet::quant
