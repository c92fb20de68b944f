#include "quant/fit_inputs.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "passes/epilogues.h"
#include "passes/uses.h"
#include "quant/output_error.h"

namespace octet::quant {

namespace {

constexpr std::int64_t kPictures = 8;            // that powers are tried on
constexpr double kPowers[] = {0, 0.5, 0.75, 1};  // of a channel's reach, that its scale is
constexpr float kMaxFactor = 1e4f;

// The nodes in front of a layer: its input is x * s + b, with constants, or x * s, where s is a number for
// each channel that the model computes.
struct Affine {
  int mul = -1, add = -1, layer = -1;  // add -1: there is none
  std::size_t scale = 0, shift = 0;    // the slots of s and b
};

bool is_own_number(const Graph& graph, const Uses& uses, ValueId id) {
  const Value& value = graph.value(id);
  return value.is_constant() && value.dtype == DType::kFloat32 && value.constant.size() == 1 &&
         uses.consumers(id).size() == 1;
}

// The slot of a number that only this node reads; 2: there is none.
std::size_t number_slot(const Graph& graph, const Uses& uses, const Node& node) {
  for (std::size_t slot = 0; slot < 2; ++slot)
    if (is_own_number(graph, uses, node.inputs[slot]) && !graph.value(node.inputs[1 - slot]).is_constant())
      return slot;
  return 2;
}

// The slot of a gate, as squeeze-and-excitation blocks have it: one number for each channel. 2: there is
// none.
std::size_t gate_slot(const Graph& graph, const Node& mul) {
  for (std::size_t slot = 0; slot < 2; ++slot) {
    const Value &gate = graph.value(mul.inputs[slot]), &x = graph.value(mul.inputs[1 - slot]);
    if (gate.is_constant() || x.is_constant() || gate.shape.size() != 4 || x.shape.size() != 4) continue;
    if (gate.shape[2] == 1 && gate.shape[3] == 1 && gate.shape[1] > 0 && gate.shape[1] == x.shape[1])
      return slot;
  }
  return 2;
}

Affine affine_of(const Graph& graph, const Uses& uses, ValueId made) {
  Affine result;
  const int layer = uses.producer(made);
  if (layer < 0) return {};
  const Node& conv = graph.nodes[static_cast<std::size_t>(layer)];
  if (conv.op != "conv2d" || attr<std::int64_t>(conv, "groups") != 1 ||
      !has_one_tap(conv, graph.value(weights_of(conv)).shape) || uses.consumers(weights_of(conv)).size() != 1)
    return {};
  const auto maker = [&](ValueId id, std::string_view op) {
    const int i = uses.only_for_one(id) ? uses.producer(id) : -1;
    return i >= 0 && graph.nodes[static_cast<std::size_t>(i)].op == op ? i : -1;
  };
  result.layer = layer;
  result.mul = maker(conv.inputs[0], "mul");
  if (result.mul >= 0) {
    result.scale = gate_slot(graph, graph.nodes[static_cast<std::size_t>(result.mul)]);
    return result.scale > 1 ? Affine() : result;
  }
  result.add = maker(conv.inputs[0], "add");
  if (result.add < 0) return {};
  const Node& add = graph.nodes[static_cast<std::size_t>(result.add)];
  result.shift = number_slot(graph, uses, add);
  if (result.shift > 1) return {};
  result.mul = maker(add.inputs[1 - result.shift], "mul");
  if (result.mul < 0) return {};
  const Node& mul = graph.nodes[static_cast<std::size_t>(result.mul)];
  result.scale = number_slot(graph, uses, mul);
  return result.scale > 1 || graph.value(mul.inputs[1 - result.scale]).shape.size() != 4 ? Affine() : result;
}

struct Range {
  float low = 0, high = 0;
  float centre() const { return low + (high - low) / 2; }
  float reach() const { return (high - low) / 2; }
};

// What a channel has been seen to hold.
struct ChannelValues {
  static constexpr std::size_t kBins = 1024;
  float low = std::numeric_limits<float>::infinity(), high = -std::numeric_limits<float>::infinity();
  std::vector<double> counts;  // between the two

  void widen(std::span<const float> values) {
    for (float x : values) low = std::min(low, x), high = std::max(high, x);
  }
  void count(std::span<const float> values) {
    counts.resize(kBins);
    if (!(high > low)) return;
    const float to_bin = static_cast<float>(kBins) / (high - low);
    for (float x : values)
      counts[std::min(kBins - 1, static_cast<std::size_t>(std::max(0.0f, (x - low) * to_bin)))] += 1;
  }
  // From the least value to where the squared error of rounding and clipping is least; without a shift the
  // same on both sides of zero.
  Range range(bool can_shift, int bits) const {
    if (!can_shift) {
      const float reach = std::max(std::fabs(low), std::fabs(high));
      return {-reach, reach};
    }
    Range best{low, high};
    double least = std::numeric_limits<double>::infinity(), all = 0;
    for (double n : counts) all += n;
    const double width = static_cast<double>(high - low) / static_cast<double>(kBins);
    for (std::size_t top = kBins; top >= kBins / 4; top -= kBins / 32) {
      const double step = static_cast<double>(top) * width / ((1 << bits) - 2);
      double error = all * step * step / 12;
      for (std::size_t bin = top; bin < kBins; ++bin) {
        const double beyond = (static_cast<double>(bin - top) + 0.5) * width;
        error += counts[bin] * beyond * beyond;
      }
      if (error < least)
        least = error, best.high = low + static_cast<float>(static_cast<double>(top) * width);
    }
    return best;
  }
};

using Channels = std::vector<ChannelValues>;

void add_values(const Tensor& x, Channels* channels, void (ChannelValues::*add)(std::span<const float>)) {
  channels->resize(static_cast<std::size_t>(x.dim(1)));
  const auto data = x.data<float>();
  for_channels(x.shape(), 1, [&](std::size_t c, std::size_t begin, std::size_t end) {
    ((*channels)[c].*add)(data.subspan(begin, end - begin));
  });
}

class InputFitter {
 public:
  InputFitter(Graph& graph, int bits, ThreadPool& pool) : graph_(graph), bits_(bits), pool_(pool) {}

  // `seen`: what the layer's input holds; `xs`, `ys`: what it reads and makes.
  void fit(ValueId made, const Channels& seen, const std::vector<Tensor>& xs, const std::vector<Tensor>& ys) {
    const Affine affine = affine_of(graph_, Uses(graph_), made);
    const Node& conv = graph_.nodes[static_cast<std::size_t>(affine.layer)];
    const Tensor weight = graph_.value(weights_of(conv)).constant.aligned();
    const auto channels = static_cast<std::size_t>(weight.dim(1));
    std::vector<Range> ranges(channels);
    for (std::size_t c = 0; c < channels; ++c) ranges[c] = seen[c].range(affine.add >= 0, bits_);
    const std::vector<double> shift = shift_of(weight, ranges);
    std::vector<float> best(channels, 1.0f);
    double least = std::numeric_limits<double>::infinity();
    for (double power : kPowers) {
      const std::vector<float> factors = factors_of(weight, ranges, power);
      const double error = error_of(affine.layer, factors, ranges, shift, xs, ys);
      if (error < least) least = error, best = factors;
    }
    apply(affine, best, ranges, shift);
  }

 private:
  // What the centres of the channels are for each output.
  static std::vector<double> shift_of(const Tensor& weight, const std::vector<Range>& ranges) {
    std::vector<double> shift(static_cast<std::size_t>(weight.dim(0)));
    const auto w = weight.data<float>();
    for (std::size_t i = 0; i < w.size(); ++i)
      shift[i / ranges.size()] +=
          static_cast<double>(w[i]) * static_cast<double>(ranges[i % ranges.size()].centre());
    return shift;
  }

  // That channels are divided by. Power 1: all have one reach; 0: they keep theirs.
  static std::vector<float> factors_of(const Tensor& weight, const std::vector<Range>& ranges, double power) {
    const auto w = weight.data<float>();
    std::vector<float> largest(ranges.size());
    for (std::size_t i = 0; i < w.size(); ++i)
      largest[i % ranges.size()] = std::max(largest[i % ranges.size()], std::fabs(w[i]));
    std::vector<float> factors(ranges.size(), 1.0f);
    double log_sum = 0;
    for (std::size_t c = 0; c < ranges.size(); ++c) {
      if (!(ranges[c].reach() > 0) || !(largest[c] > 0)) continue;
      const double reach = static_cast<double>(ranges[c].reach());
      factors[c] = static_cast<float>(std::pow(reach, power) /
                                      std::pow(static_cast<double>(largest[c]), power < 1 ? 1 - power : 0.0));
      if (power == 0) factors[c] = 1;
      log_sum += std::log(static_cast<double>(factors[c]));
    }
    const auto mean = static_cast<float>(std::exp(log_sum / static_cast<double>(ranges.size())));
    for (float& factor : factors) factor = std::clamp(factor / mean, 1 / kMaxFactor, kMaxFactor);
    return factors;
  }

  Tensor scaled(const Tensor& weight, const std::vector<float>& factors) const {
    Tensor result = weight.clone();
    auto w = result.mutable_data<float>();
    for (std::size_t i = 0; i < w.size(); ++i) w[i] *= factors[i % factors.size()];
    return result;
  }

  static Tensor fitted(const Tensor& x, const std::vector<float>& factors, const std::vector<Range>& ranges) {
    Tensor result(DType::kFloat32, x.shape());
    const auto from = x.data<float>();
    auto to = result.mutable_data<float>();
    for_channels(x.shape(), 1, [&](std::size_t c, std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) to[i] = (from[i] - ranges[c].centre()) / factors[c];
    });
    return result;
  }

  // Of the layer's output, with everything quantized.
  double error_of(int layer, const std::vector<float>& factors, const std::vector<Range>& ranges,
                  const std::vector<double>& shift, const std::vector<Tensor>& xs,
                  const std::vector<Tensor>& ys) {
    const Tensor& weight = graph_.value(weights_of(graph_.nodes[static_cast<std::size_t>(layer)])).constant;
    LayerRunner runner(graph_, {layer, 0, true}, quantize_weight(scaled(weight, factors), 0, 8), bits_,
                       pool_);
    float threshold = 0;
    for (std::size_t c = 0; c < factors.size(); ++c)
      threshold = std::max(threshold, ranges[c].reach() / factors[c]);
    double error = 0;
    for (std::size_t i = 0; i < xs.size(); ++i) {
      Tensor found = runner.run(fitted(xs[i], factors, ranges), threshold).clone();
      auto data = found.mutable_data<float>();
      for_channels(found.shape(), 1, [&](std::size_t c, std::size_t begin, std::size_t end) {
        for (std::size_t k = begin; k < end; ++k) data[k] += static_cast<float>(shift[c]);
      });
      error += relative_error(found, ys[i]);
    }
    return error;
  }

  void apply(const Affine& affine, const std::vector<float>& factors, const std::vector<Range>& ranges,
             const std::vector<double>& shift) {
    const auto channels = static_cast<std::int64_t>(factors.size());
    const auto set = [&](int node, std::size_t slot, const auto& number) {
      const ValueId id = graph_.nodes[static_cast<std::size_t>(node)].inputs[slot];
      const float was = graph_.value(id).constant.aligned().template data<float>()[0];
      Tensor tensor(DType::kFloat32, {1, channels, 1, 1});
      auto data = tensor.mutable_data<float>();
      for (std::size_t c = 0; c < factors.size(); ++c) data[c] = number(was, c);
      graph_.value(id).shape = tensor.shape();
      graph_.value(id).constant = std::move(tensor);
    };
    const Node& conv = graph_.nodes[static_cast<std::size_t>(affine.layer)];
    const ValueId made = conv.outputs[0];
    Value& weight = graph_.value(weights_of(conv));
    weight.constant = scaled(weight.constant, factors);
    if (affine.add < 0) return scale_gate(affine, factors);
    set(affine.mul, affine.scale, [&](float was, std::size_t c) { return was / factors[c]; });
    set(affine.add, affine.shift,
        [&](float was, std::size_t c) { return (was - ranges[c].centre()) / factors[c]; });
    for (int i : {affine.mul, affine.add})
      graph_.nodes[static_cast<std::size_t>(i)].attrs["axis"] = std::int64_t{-1};
    add_to_channels(graph_, made, shift, 1);
  }

  void scale_gate(const Affine& affine, const std::vector<float>& factors) {
    Node& mul = graph_.nodes[static_cast<std::size_t>(affine.mul)];
    const ValueId gate = mul.inputs[affine.scale];
    Tensor numbers(DType::kFloat32, {1, static_cast<std::int64_t>(factors.size()), 1, 1});
    for (std::size_t c = 0; c < factors.size(); ++c) numbers.mutable_data<float>()[c] = 1 / factors[c];
    const std::string name = graph_.value(mul.outputs[0]).name;
    const ValueId scaled = graph_.add_value(name + ".gate", DType::kFloat32, Shape(graph_.value(gate).shape));
    const ValueId constant = graph_.add_constant(name + ".factors", std::move(numbers));
    mul.inputs[affine.scale] = scaled;
    graph_.nodes.insert(graph_.nodes.begin() + affine.mul, Node{.op = "mul",
                                                                .inputs = {gate, constant},
                                                                .outputs = {scaled},
                                                                .attrs = {{"axis", std::int64_t{-1}}}});
  }

  Graph& graph_;
  const int bits_;  // of activations
  ThreadPool& pool_;
};

}  // namespace

std::vector<ValueId> layers_with_free_inputs(const Graph& graph, const InsertionPoints& points) {
  const Uses uses(graph);
  std::vector<ValueId> result;
  for (const Layer& layer : points.layers) {
    const ValueId made = node_of(graph, layer).outputs[0];
    const Affine affine = affine_of(graph, uses, made);
    const bool as_integers = affine.mul >= 0 && (points.inputs.contains({affine.mul, 0}) ||
                                                 points.inputs.contains({affine.mul, 1}));
    if (layer.weights && affine.layer >= 0 && !as_integers) result.push_back(made);
  }
  return result;
}

void fit_inputs(Graph& graph, const std::vector<ValueId>& layers, int bits, const CalibrationSample& sample,
                ThreadPool& pool, std::vector<ValueId>* changed) {
  if (layers.empty() || sample.empty()) return;
  std::vector<ValueId> wanted;
  std::map<ValueId, Channels> channels;
  std::vector<std::pair<ValueId, ValueId>> read_and_made;
  {
    const Uses uses(graph);
    for (ValueId made : layers) {
      const Node& node = graph.nodes[static_cast<std::size_t>(uses.producer(made))];
      read_and_made.emplace_back(node.inputs[0], made);
      channels[node.inputs[0]];
      wanted.insert(wanted.end(), {node.inputs[0], made});
    }
  }
  TensorRunner runner(graph, wanted, pool);
  std::map<ValueId, std::vector<Tensor>> seen;
  std::int64_t pictures = 0;
  for (auto add : {&ChannelValues::widen, &ChannelValues::count})
    for (const auto& inputs : sample) {
      runner.run(inputs);
      pool.parallel_for(static_cast<std::int64_t>(read_and_made.size()), [&](std::int64_t i) {
        const ValueId read = read_and_made[static_cast<std::size_t>(i)].first;
        add_values(runner[read], &channels.at(read), add);
      });
      if (pictures >= kPictures) continue;
      pictures += pictures_in(inputs);
      for (ValueId id : wanted) seen[id].push_back(runner[id].clone());
    }
  InputFitter fitter(graph, bits, pool);
  for (const auto& [read, made] : read_and_made) {
    const Affine affine = affine_of(graph, Uses(graph), made);
    if (affine.add >= 0) {
      changed->push_back(graph.nodes[static_cast<std::size_t>(affine.mul)].outputs[0]);
      changed->push_back(made);
    }
    changed->push_back(read);
    fitter.fit(made, channels.at(read), seen.at(read), seen.at(made));
  }
  infer_shapes(graph);
}

}  // namespace octet::quant
