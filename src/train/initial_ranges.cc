#include "train/initial_ranges.h"

#include <algorithm>
#include <limits>
#include <set>

#include "base/error.h"
#include "base/glob.h"
#include "graph/op_table.h"
#include "graph/quantization.h"
#include "train/convert.h"
#include "train/fake_quant.h"
#include "train/network.h"

namespace octet::train {

namespace {

bool is_listed(const std::vector<std::string>& globs, const std::string& name) {
  return std::ranges::any_of(globs, [&](const std::string& glob) { return matches(glob, name); });
}

bool has(const std::vector<std::string>& words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

// For each row of `x` the range, as a share of its largest magnitude, whose rounding has the least squared
// error.
at::Tensor best_ranges(const at::Tensor& x, double levels) {
  const at::Tensor largest = x.abs().amax({1}, true).clamp_min(1e-6);
  at::Tensor best = largest.clone(), least = at::full_like(largest, std::numeric_limits<float>::infinity());
  for (double share = 0.2; share < 1.01; share += 0.05) {
    const at::Tensor range = largest * share;
    const at::Tensor rounded = at::clamp(at::round(x / range * levels), -levels, levels) * range / levels;
    const at::Tensor error = (x - rounded).square().sum({1}, true);
    best = at::where(error < least, range, best);
    least = at::minimum(error, least);
  }
  return best.flatten();
}

// The same for a whole tensor, of which a part is looked at if it is large.
double best_range(const at::Tensor& x, double levels) {
  constexpr std::int64_t kEnough = 1 << 19;
  at::Tensor flat = x.to(at::kFloat).flatten();
  if (flat.numel() > kEnough) flat = flat.slice(0, 0, flat.numel(), flat.numel() / kEnough + 1);
  return best_ranges(flat.view({1, -1}), levels).item<double>();
}

// A layer that can be quantized, and what is special about it.
struct Candidate {
  int node = -1;
  std::string name;
  bool is_conv = false, first = false, last = false, depthwise = false, squeeze_excite = false;
};

std::vector<Candidate> find_candidates(const Graph& graph) {
  std::vector<Candidate> candidates;
  for (int i = 0; i < static_cast<int>(graph.nodes.size()); ++i) {
    const Node& node = graph.nodes[static_cast<std::size_t>(i)];
    if (quant::weight_axis(graph, node) < 0) continue;
    const Value& weight = graph.value(weights_of(node));
    Candidate candidate{.node = i, .name = quant::layer_name(weight.name), .is_conv = node.op == "conv2d"};
    if (candidate.is_conv) {
      const Shape& x = graph.value(node.inputs[0]).shape;
      candidate.depthwise = attr<std::int64_t>(node, "groups") > 1 && weight.shape[1] == 1;
      candidate.squeeze_excite = x.size() == 4 && x[2] == 1 && x[3] == 1;
    }
    candidates.push_back(std::move(candidate));
  }
  if (!candidates.empty()) candidates.front().first = candidates.back().last = true;
  return candidates;
}

bool keeps_8_bits(const Candidate& candidate, const std::vector<std::string>& words) {
  return (candidate.first && has(words, "first")) || (candidate.last && has(words, "last")) ||
         (candidate.depthwise && has(words, "depthwise")) || (candidate.squeeze_excite && has(words, "se")) ||
         is_listed(words, candidate.name);
}

// Where the ranges of a layer's input begin, after what it is in a sample.
void set_input_ranges(Graph& graph, const Node& fake_quant, const at::Tensor& x, int bits, double pact_init) {
  const auto set = [&](std::size_t slot, double value) {
    if (slot < fake_quant.inputs.size() && fake_quant.inputs[slot] != kNoValue)
      graph.value(fake_quant.inputs[slot]).constant = Tensor::of<float>({1}, {static_cast<float>(value)});
  };
  const auto method = attr<std::string>(fake_quant, "method");
  const double largest = std::max(x.to(at::kFloat).abs().amax().item<double>(), 1e-6);
  set(1, largest);
  set(4, largest);
  if (method == "moving_average") return;
  const bool is_given = method == "pact" && pact_init > 0;
  set(method == "pact" ? 2 : 1, is_given ? pact_init : best_range(x, levels_of(bits)));
}

}  // namespace

std::vector<quant::FakeQuantLayer> layers_to_quantize(const Graph& graph, const QuantOptions& options) {
  std::vector<quant::FakeQuantLayer> layers;
  const std::vector<Candidate> candidates = find_candidates(graph);
  const auto is_of_backbone = [](const Candidate& c) { return c.name.find("backbone") != std::string::npos; };
  // As PaddleSeg: of a network without a backbone all is quantized.
  const bool only_backbone =
      options.scope == QuantScope::kBackbone && std::ranges::any_of(candidates, is_of_backbone);
  for (const Candidate& candidate : candidates) {
    if (!has(options.layer_types, candidate.is_conv ? "Conv2D" : "Linear") ||
        is_listed(options.skip, candidate.name) || (only_backbone && !is_of_backbone(candidate)))
      continue;
    const bool full = keeps_8_bits(candidate, options.keep_8bit);
    layers.push_back({.node = candidate.node,
                      .input = {.method = method_of(options.activation),
                                .bits = full ? 8 : options.activation_bits,
                                .moving_rate = options.moving_rate},
                      .weight = {.method = options.weight == WeightScale::kLsq ? "lsq" : "abs_max",
                                 .bits = full ? 8 : options.weight_bits,
                                 .per_channel = options.weight != WeightScale::kAbsMax}});
  }
  if (layers.empty()) fail("no layer is left to be quantized");
  return layers;
}

void Network::quantize(const QuantOptions& options, const at::Tensor& sample) {
  const std::vector<quant::FakeQuantLayer> layers = layers_to_quantize(graph_, options);
  std::vector<ValueId> wanted;
  for (const quant::FakeQuantLayer& layer : layers)
    wanted.push_back(graph_.nodes[static_cast<std::size_t>(layer.node)].inputs[0]);
  // In training mode a fresh network has the ranges that it is going to have; its statistics must not notice.
  Graph graph = bake();
  const at::NoGradGuard no_gradients;
  const std::vector<at::Tensor> inputs = forward({sample}, wanted);

  quant::insert_fake_quant(graph, layers);
  std::set<const Node*> done;  // nodes that several layers share
  const std::vector<quant::TrainedLayer> trained = quant::trained_layers(graph);
  for (std::size_t i = 0; i < trained.size(); ++i) {
    const auto& [node, input, weight] = trained[i];
    if (done.insert(input).second)
      set_input_ranges(graph, *input, inputs[i], layers[i].input.bits, options.pact_init);
    if (attr<std::string>(*weight, "method") != "lsq") continue;
    const at::Tensor rows =
        to_torch(graph.value(weight->inputs[0]).constant).transpose(0, attr<std::int64_t>(*weight, "axis"));
    graph.value(input_of(*weight, "scale")).constant =
        from_torch(best_ranges(rows.flatten(1), levels_of(layers[i].weight.bits)));
  }
  graph_ = std::move(graph);
  build();
}

}  // namespace octet::train
