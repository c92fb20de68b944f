#include "quant/equalize.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "passes/uses.h"
#include "quant/runners.h"

namespace octet::quant {

namespace {

constexpr float kMaxFactor = 1e4f;

// Tensors whose channels can only be scaled together: what convolutions make, with their biases, the sums of
// such tensors, and what a ReLU or a pool makes of them.
struct Stream {
  bool fits = true;             // false: someone makes or reads it who would notice
  std::vector<ValueId> makers;  // weights and biases, a channel of them along dim 0
  std::vector<int> readers;     // convolutions
  std::vector<ValueId> read;    // what they read
  std::int64_t channels = 0;
};

class Equalizer {
 public:
  explicit Equalizer(Graph& graph) : graph_(graph), uses_(graph), parents_(graph.values.size()) {
    std::iota(parents_.begin(), parents_.end(), 0);
  }

  std::vector<Stream> streams() {
    for (const Node& node : graph_.nodes)
      if (passes_on(node))
        for (ValueId id : node.inputs)
          if (id != kNoValue && !graph_.value(id).is_constant()) join(id, node.outputs[0]);
    std::map<int, Stream> found;
    auto stream_of = [&](ValueId id) -> Stream& { return found[root(id)]; };
    for (ValueId id : graph_.inputs) stream_of(id).fits = false;
    for (ValueId id : graph_.outputs) stream_of(id).fits = false;
    for (int i = 0; i < static_cast<int>(graph_.nodes.size()); ++i) {
      const Node& node = graph_.nodes[static_cast<std::size_t>(i)];
      bool conv = is_own_conv(node), hands_on = passes_on(node);
      if (conv) {
        Stream& made = stream_of(node.outputs[0]);
        made.makers.push_back(weights_of(node));
        made.channels = output_channels(graph_, node);
      }
      if (hands_on && node.op == "add" && graph_.value(node.inputs[1]).is_constant())
        stream_of(node.outputs[0]).makers.push_back(node.inputs[1]);
      for (ValueId id : node.inputs) {
        if (id == kNoValue || graph_.value(id).is_constant()) continue;
        Stream& stream = stream_of(id);
        if (conv && can_read(node)) {
          stream.readers.push_back(i);
          stream.read.push_back(id);
        } else if (!hands_on) {
          stream.fits = false;
        }
      }
      for (ValueId id : node.outputs)
        if (id != kNoValue && !conv && !hands_on) stream_of(id).fits = false;
    }
    std::vector<Stream> result;
    for (auto& [id, stream] : found)
      if (stream.fits && !stream.makers.empty() && !stream.readers.empty())
        result.push_back(std::move(stream));
    return result;
  }

  void add_tensors(const Stream& stream, std::vector<ValueId>* tensors) {
    const int stream_root = root(stream.read.front());
    for (ValueId id = 0; id < static_cast<ValueId>(graph_.values.size()); ++id)
      if (!graph_.value(id).is_constant() && root(id) == stream_root) tensors->push_back(id);
  }

  // `largest`: the magnitudes that each channel reaches where it is read.
  void apply(const Stream& stream, const std::vector<float>& largest) {
    std::vector<float> reach(largest.size());
    for (int reader : stream.readers)
      for_weights(reader, [&](float& w, std::size_t c) { reach[c] = std::max(reach[c], std::fabs(w)); });
    std::vector<float> factors(largest.size());  // of the channels, in those who read them
    double log_sum = 0;
    for (std::size_t c = 0; c < factors.size(); ++c) {
      factors[c] = largest[c] > 0 && reach[c] > 0 ? std::sqrt(largest[c] / reach[c]) : 0;
      log_sum += factors[c] > 0 ? std::log(static_cast<double>(factors[c])) : 0;
    }
    auto mean = static_cast<float>(std::exp(log_sum / static_cast<double>(factors.size())));
    for (float& factor : factors)
      factor = factor > 0 ? std::clamp(factor / mean, 1 / kMaxFactor, kMaxFactor) : 1.0f;
    for (int reader : stream.readers) for_weights(reader, [&](float& w, std::size_t c) { w *= factors[c]; });
    for (ValueId id : stream.makers) {
      Tensor tensor = graph_.value(id).constant.clone();
      std::span<float> data = tensor.mutable_data<float>();
      std::size_t inner = data.size() / factors.size();
      for (std::size_t i = 0; i < data.size(); ++i) data[i] /= factors[i / inner];
      graph_.value(id).constant = std::move(tensor);
    }
  }

 private:
  int root(int id) {
    while (parents_[static_cast<std::size_t>(id)] != id) id = parents_[static_cast<std::size_t>(id)];
    return id;
  }
  void join(int a, int b) { parents_[static_cast<std::size_t>(root(a))] = root(b); }

  // A constant of floats that only one node reads, so that it may be changed.
  bool is_own_constant(ValueId id) const {
    const Value& value = graph_.value(id);
    return value.is_constant() && value.dtype == DType::kFloat32 && uses_.consumers(id).size() == 1;
  }
  bool is_own_conv(const Node& node) const {
    return node.op == "conv2d" && node.inputs.size() == 2 && is_own_constant(weights_of(node));
  }
  // Each of its weights belongs to one channel of the input: it has one group, or is depthwise.
  bool can_read(const Node& conv) const {
    const Shape& weight = graph_.value(weights_of(conv)).shape;
    std::int64_t groups = attr<std::int64_t>(conv, "groups");
    return groups == 1 || weight[1] == 1;
  }
  bool passes_on(const Node& node) const {
    if (spec_of(node).homogeneous) return true;
    if (node.op != "add" || graph_.value(node.inputs[0]).is_constant()) return false;
    if (!graph_.value(node.inputs[1])
             .is_constant())  // of equal shapes; what broadcasts has no stream of its own
      return graph_.value(node.inputs[0]).shape == graph_.value(node.inputs[1]).shape;
    const Shape& x = graph_.value(node.inputs[0]).shape;
    return is_own_constant(node.inputs[1]) && x.size() == 4 && attr<std::int64_t>(node, "axis") == 1 &&
           graph_.value(node.inputs[1]).constant.size() == x[1];
  }

  // Calls work(weight, input channel).
  template <class Work>
  void for_weights(int reader, const Work& work) {
    const Node& conv = graph_.nodes[static_cast<std::size_t>(reader)];
    Value& value = graph_.value(weights_of(conv));
    const std::int64_t groups = attr<std::int64_t>(conv, "groups");
    Tensor tensor = value.constant.clone();
    std::span<float> weights = tensor.mutable_data<float>();
    auto area = static_cast<std::size_t>(value.shape[2] * value.shape[3]);
    auto channels = static_cast<std::size_t>(value.shape[1]);
    auto of_channel =
        area * static_cast<std::size_t>(value.shape[0] / groups);  // weights, of a depthwise one
    for (std::size_t i = 0; i < weights.size(); ++i)
      work(weights[i], groups > 1 ? i / of_channel : i / area % channels);
    value.constant = std::move(tensor);
  }

  Graph& graph_;
  Uses uses_;
  std::vector<int> parents_;
};

}  // namespace

void add_channel_maxima(const Tensor& x, std::vector<float>* largest) {
  const int axis = x.rank() == 4 ? 1 : x.rank() - 1;
  if (axis < 0) return;
  largest->resize(static_cast<std::size_t>(x.dim(axis)));
  const auto data = x.data<float>();
  for_channels(x.shape(), axis, [&](std::size_t c, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) (*largest)[c] = std::max((*largest)[c], std::fabs(data[i]));
  });
}

double channel_spread(const std::vector<float>& largest) {
  std::vector<float> alive;
  for (float x : largest)
    if (x > 0) alive.push_back(x);
  if (alive.empty()) return 0;
  const auto middle = alive.begin() + static_cast<std::ptrdiff_t>(alive.size() / 2);
  std::nth_element(alive.begin(), middle, alive.end());
  return static_cast<double>(*std::max_element(alive.begin(), alive.end())) / static_cast<double>(*middle);
}

int equalize(Graph& graph, Equalization which, const CalibrationSample& sample, ThreadPool& pool,
             std::vector<ValueId>* scaled) {
  if (which == Equalization::kNone) return 0;
  Equalizer equalizer(graph);
  std::vector<Stream> streams = equalizer.streams();
  if (streams.empty() || sample.empty()) return 0;
  std::set<ValueId> read;
  for (const Stream& stream : streams) read.insert(stream.read.begin(), stream.read.end());
  TensorRunner runner(graph, {read.begin(), read.end()}, pool);
  std::map<ValueId, std::vector<float>> largest;
  for (const auto& inputs : sample) {
    runner.run(inputs);
    for (ValueId id : read) add_channel_maxima(runner[id], &largest[id]);
  }
  int done = 0;
  for (const Stream& stream : streams) {
    std::vector<float> all(static_cast<std::size_t>(stream.channels));
    bool same = true;
    for (ValueId id : stream.read) {
      same = same && largest[id].size() == all.size();
      for (std::size_t c = 0; same && c < all.size(); ++c) all[c] = std::max(all[c], largest[id][c]);
    }
    if (!same || (which == Equalization::kOutliers && channel_spread(all) < kGreatSpread)) continue;
    equalizer.apply(stream, all);
    if (scaled) equalizer.add_tensors(stream, scaled);
    ++done;
  }
  return done;
}

}  // namespace octet::quant
