#include <algorithm>
#include <limits>

#include "base/error.h"
#include "base/glob.h"
#include "graph/op_table.h"
#include "quant/trained.h"
#include "train/convert.h"
#include "train/network.h"

// The part of Network that makes it quantization-aware.
namespace octet::train {

namespace {

using quant::layer_name;

at::Tensor one_number(double value) {
  return at::full({1}, value, at::kFloat);
}

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
  const Node* node;
  std::string name;
  bool first = false, last = false, depthwise = false, squeeze_excite = false;
};

std::vector<Candidate> find_candidates(const Graph& graph) {
  std::vector<Candidate> candidates;
  for (const Node& node : graph.nodes) {
    if (quant::weight_axis(graph, node) < 0) continue;
    Candidate candidate{.node = &node, .name = layer_name(graph.value(node.inputs[1]).name)};
    if (node.op == "conv2d") {
      const Shape& weight = graph.value(node.inputs[1]).shape;
      const Shape& x = graph.value(node.inputs[0]).shape;
      candidate.depthwise = attr<std::int64_t>(node, "groups") > 1 && weight[1] == 1;
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

}  // namespace

void Network::add_quantizer(const Node& node, LayerQuantizer quantizer) {
  const InputQuantizer& input = *quantizer.input;
  const bool is_new = std::ranges::none_of(
      quantizers_, [&](const auto& entry) { return entry.second.input == quantizer.input; });
  if (is_new) {
    if (input.learned.defined())
      parameters_.push_back({quantizer.name + (input.kind == Activation::kPact ? "._act_preprocess.alpha"
                                                                               : "._fake_quant_input._scale"),
                             kNoValue, input.learned});
    if (input.kind != Activation::kLsq)
      for (const auto& [suffix, tensor] :
           {std::pair("._scale", input.scale), std::pair("._state", input.state),
            std::pair("._accum", input.accum)})
        statistics_.push_back({quantizer.name + "._fake_quant_input" + suffix, kNoValue, tensor});
  }
  if (quantizer.weight.learned.defined())
    parameters_.push_back(
        {quantizer.name + "._fake_quant_weight._scale", kNoValue, quantizer.weight.learned});
  quantizers_.emplace(&node, std::move(quantizer));
}

void Network::quantize(const QuantOptions& options, const at::Tensor& sample) {
  std::vector<Candidate> candidates = find_candidates(graph_);
  std::erase_if(candidates, [&](const Candidate& candidate) {
    const bool is_conv = candidate.node->op == "conv2d";
    return !has(options.layer_types, is_conv ? "Conv2D" : "Linear") ||
           is_listed(options.skip, candidate.name);
  });
  if (candidates.empty()) fail("no layer is left to be quantized");

  std::vector<ValueId> wanted;
  for (const Candidate& candidate : candidates) wanted.push_back(candidate.node->inputs[0]);
  std::vector<at::Tensor> inputs;
  {
    // In training mode a fresh network has the ranges that it is going to have; its statistics must not
    // notice.
    const at::NoGradGuard no_gradients;
    std::vector<at::Tensor> before;
    for (const Weight& statistic : statistics_) before.push_back(statistic.tensor.clone());
    inputs = forward({sample}, wanted);
    for (std::size_t i = 0; i < before.size(); ++i) statistics_[i].tensor.copy_(before[i]);
  }

  std::map<ValueId, std::shared_ptr<InputQuantizer>> by_tensor;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const Candidate& candidate = candidates[i];
    const Node& node = *candidate.node;
    const bool full = keeps_8_bits(candidate, options.keep_8bit);
    LayerQuantizer quantizer{.name = candidate.name};
    quantizer.weight = {.kind = options.weight,
                        .bits = full ? 8 : options.weight_bits,
                        .axis = quant::weight_axis(graph_, node)};
    const at::Tensor& weight =
        parameters_[static_cast<std::size_t>(weight_of_[static_cast<std::size_t>(node.inputs[1])])].tensor;
    const at::NoGradGuard no_gradients;
    if (options.weight == WeightScale::kLsq) {
      const std::int64_t axis = quantizer.weight.axis;
      quantizer.weight.learned =
          best_ranges(weight.transpose(0, axis).flatten(1), static_cast<double>(quantizer.weight.levels()));
      quantizer.weight.learned.set_requires_grad(true);
    }
    std::shared_ptr<InputQuantizer>& input = by_tensor[node.inputs[0]];
    if (!input) {
      input = std::make_shared<InputQuantizer>();
      input->kind = options.activation;
      input->bits = full ? 8 : options.activation_bits;
      input->moving_rate = options.moving_rate;
      const double largest = std::max(inputs[i].to(at::kFloat).abs().amax().item<double>(), 1e-6);
      input->scale = one_number(largest);
      input->state = one_number(1);
      input->accum = one_number(largest);
      const bool is_given = options.activation == Activation::kPact && options.pact_init > 0;
      if (options.activation != Activation::kMovingAverage)
        input->learned = one_number(is_given ? options.pact_init
                                             : best_range(inputs[i], static_cast<double>(input->levels())));
      if (input->learned.defined()) input->learned = input->learned.to(device_).set_requires_grad(true);
    } else {
      input->bits = std::max(input->bits, full ? 8 : options.activation_bits);
    }
    quantizer.input = input;
    add_quantizer(node, std::move(quantizer));
  }
}

void Network::quantize(const paddle::StateDict& state) {
  std::map<ValueId, std::shared_ptr<InputQuantizer>> by_tensor;
  const auto number = [&](const std::string& name) {
    return to_torch(state.at(name)).to(at::kFloat).reshape({1});
  };
  for (const Candidate& candidate : find_candidates(graph_)) {
    const std::string input_name = candidate.name + "._fake_quant_input",
                      weight_name = candidate.name + "._fake_quant_weight";
    if (!state.find(input_name + "._scale")) continue;
    const Node& node = *candidate.node;
    LayerQuantizer quantizer{.name = candidate.name};
    quantizer.weight.axis = quant::weight_axis(graph_, node);
    quantizer.weight.bits = static_cast<int>(number(weight_name + "._bits").item<float>());
    const at::Tensor weight_scale = to_torch(state.at(weight_name + "._scale"));
    quantizer.weight.kind = weight_scale.numel() == 1 ? WeightScale::kAbsMax : WeightScale::kChannelAbsMax;
    if (state.find(weight_name + "._learned")) {
      quantizer.weight.kind = WeightScale::kLsq;
      quantizer.weight.learned = weight_scale.to(device_).set_requires_grad(true);
    }
    std::shared_ptr<InputQuantizer>& input = by_tensor[node.inputs[0]];
    if (!input) {
      input = std::make_shared<InputQuantizer>();
      input->bits = static_cast<int>(number(input_name + "._bits").item<float>());
      input->moving_rate = number(input_name + "._moving_rate").item<double>();
      input->kind = Activation::kMovingAverage;
      input->scale = number(input_name + "._scale");
      if (state.find(input_name + "._state")) {
        input->state = number(input_name + "._state");
        input->accum = number(input_name + "._accum");
      } else {
        input->kind = Activation::kLsq;
        input->learned = input->scale.clone();
        input->state = input->accum = one_number(1);
      }
      if (state.find(candidate.name + "._act_preprocess.alpha")) {
        input->kind = Activation::kPact;
        input->learned = number(candidate.name + "._act_preprocess.alpha");
      }
      if (input->learned.defined()) input->learned = input->learned.to(device_).set_requires_grad(true);
    }
    quantizer.input = input;
    add_quantizer(node, std::move(quantizer));
  }
}

void Network::write_quantizers(paddle::StateDict& state) const {
  const auto set = [&](const std::string& name, const at::Tensor& tensor) {
    state.set(name, {from_torch(tensor)});
  };
  for (const Node& node : graph_.nodes) {
    const auto found = quantizers_.find(&node);
    if (found == quantizers_.end()) continue;
    const LayerQuantizer& quantizer = found->second;
    const InputQuantizer& input = *quantizer.input;
    const std::string input_name = quantizer.name + "._fake_quant_input",
                      weight_name = quantizer.name + "._fake_quant_weight";
    set(input_name + "._scale", input.kind == Activation::kLsq ? one_number(input.range()) : input.scale);
    if (input.kind != Activation::kLsq) {
      set(input_name + "._state", input.state);
      set(input_name + "._accum", input.accum);
    }
    if (input.kind == Activation::kPact)
      set(quantizer.name + "._act_preprocess.alpha", input.learned.detach().clamp_min(kSmallestRange));
    set(input_name + "._bits", at::full({1}, input.bits, at::kLong));
    set(input_name + "._moving_rate", one_number(input.moving_rate));
    const at::Tensor& weight =
        parameters_[static_cast<std::size_t>(weight_of_[static_cast<std::size_t>(node.inputs[1])])].tensor;
    set(weight_name + "._scale", quantizer.weight.abs_max(weight));
    set(weight_name + "._bits", at::full({1}, quantizer.weight.bits, at::kLong));
    if (quantizer.weight.learned.defined()) set(weight_name + "._learned", at::full({1}, 1, at::kLong));
  }
}

Graph Network::deployed(bool onnx_format) const {
  Graph graph = bake();
  if (!is_quantized()) return graph;
  paddle::StateDict state;
  write_quantizers(state);
  const std::vector<quant::TrainedLayer> layers = quant::trained_layers(graph, state);
  return quant::deployable(std::move(graph), layers, onnx_format);
}

}  // namespace octet::train
