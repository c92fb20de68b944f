#include <algorithm>
#include <cmath>
#include <optional>

#include "passes/epilogues.h"
#include "passes/passes.h"

namespace octet {

namespace {

// y = a*x + b, a channel; in double, so that what is folded is rounded once.
struct Affine {
  std::vector<double> a, b;
};

// mul by, or add of, a constant: one number, or one a channel. `made` is what the layer makes.
std::optional<Affine> affine_of_pair(const Graph& graph, const Node& layer, const Node& pair,
                                     std::int64_t channels) {
  ValueId made = layer.outputs[0];
  if (!is_open(pair) || pair.inputs[0] == pair.inputs[1]) return std::nullopt;
  std::size_t side = pair.inputs[0] == made ? 1 : 0;
  const Value& value = graph.value(pair.inputs[side]);
  std::int64_t axis = attr<std::int64_t>(pair, "axis");
  if (!value.is_constant() || value.dtype != DType::kFloat32) return std::nullopt;
  bool one = value.constant.size() == 1 && value.shape.size() <= 4;
  if (!one && (side == 0 || !lies_along_channels(graph, layer, value.shape, axis))) return std::nullopt;
  Tensor aligned = value.constant.aligned();
  Affine affine;
  for (std::size_t c = 0; c < static_cast<std::size_t>(channels); ++c) {
    double number = static_cast<double>(aligned.data<float>()[one ? 0 : c]);
    affine.a.push_back(pair.op == "mul" ? number : 1.0);
    affine.b.push_back(pair.op == "mul" ? 0.0 : number);
  }
  return affine;
}

std::optional<Affine> affine_of(const Graph& graph, const Node& layer, const Node& norm,
                                std::int64_t channels) {
  if (norm.op == "mul" || norm.op == "add") return affine_of_pair(graph, layer, norm, channels);
  if (norm.op != "batch_norm" || norm.inputs[0] != layer.outputs[0]) return std::nullopt;
  std::vector<std::span<const float>> parts;
  std::vector<Tensor> aligned;
  for (std::string_view slot : {"scale", "bias", "mean", "variance"}) {
    const Value& value = graph.value(input_of(norm, slot));
    if (!value.is_constant() || value.dtype != DType::kFloat32 || value.constant.size() != channels)
      return std::nullopt;
    aligned.push_back(value.constant.aligned());
  }
  for (const Tensor& tensor : aligned) parts.push_back(tensor.data<float>());
  double epsilon = static_cast<double>(attr<float>(norm, "epsilon"));
  Affine affine;
  for (std::size_t c = 0; c < static_cast<std::size_t>(channels); ++c) {
    double scale = parts[0][c], bias = parts[1][c], mean = parts[2][c], variance = parts[3][c];
    double a = scale / std::sqrt(variance + epsilon);
    affine.a.push_back(a);
    affine.b.push_back(bias - mean * a);
  }
  return affine;
}

// values[c] * a[c], channel c of element i being i / inner % channels.
Tensor scaled(const Tensor& tensor, const std::vector<double>& a, std::int64_t inner) {
  Tensor source = tensor.aligned(), result(DType::kFloat32, tensor.shape());
  auto from = source.data<float>();
  auto to = result.mutable_data<float>();
  for (std::size_t i = 0; i < to.size(); ++i)
    to[i] =
        static_cast<float>(static_cast<double>(from[i]) * a[i / static_cast<std::size_t>(inner) % a.size()]);
  return result;
}

// How many elements of a float weight follow each other with the same output channel; nothing when the groups
// of a transposed convolution share them.
std::optional<std::int64_t> inner_of(const Graph& graph, const Node& layer, const Shape& weight) {
  int axis = weight_channel_axis(graph, layer);
  if (axis < 0 || weight[static_cast<std::size_t>(axis)] != output_channels(graph, layer))
    return std::nullopt;
  return element_count(Shape(weight.begin() + axis + 1, weight.end()));
}

using Factors = std::map<ValueId, std::vector<double>>;

// Folds what reads the layer into it, if it can.
bool fold_next(Graph& graph, const Uses& uses, Node& layer, std::size_t* folded, Factors* all_factors) {
  bool integer = spec_of(layer).is_integer;
  if (!is_open(layer) || input_of(layer, "residual") != kNoValue) return false;
  Node* norm = only_reader(graph, uses, layer);
  if (!norm) return false;
  // Floats: into the weights. Integers: into the multipliers, the weights stay those of the file.
  std::string_view factor_slot = integer ? "multiplier" : spec_of(layer).weights;
  const Value& factor = graph.value(input_of(layer, factor_slot));
  std::int64_t channels = output_channels(graph, layer);
  if (!factor.is_constant() || factor.dtype != DType::kFloat32) return false;
  std::optional<std::int64_t> inner = integer ? 1 : inner_of(graph, layer, factor.shape);
  if (!inner || (integer && factor.constant.size() != channels)) return false;
  ValueId bias = input_of(layer, "bias");
  if (bias != kNoValue && !graph.value(bias).is_constant()) return false;
  std::optional<Affine> affine = affine_of(graph, layer, *norm, channels);
  if (!affine) return false;

  std::string name = graph.value(norm->outputs[0]).name;
  bool scales = std::any_of(affine->a.begin(), affine->a.end(), [](double a) { return a != 1; });
  Tensor biases(DType::kFloat32, {channels});
  Tensor old = bias == kNoValue ? Tensor() : graph.value(bias).constant.aligned();
  for (std::size_t c = 0; c < affine->b.size(); ++c) {
    double before = old.empty() ? 0.0 : static_cast<double>(old.data<float>()[c]);
    biases.mutable_data<float>()[c] = static_cast<float>(before * affine->a[c] + affine->b[c]);
  }
  if (scales) {
    Tensor factors = scaled(factor.constant, affine->a, *inner);
    *folded += factors.size_bytes();
    const ValueId old_id = input_of(layer, factor_slot),
                  new_id = graph.add_constant(name + ".scaled", std::move(factors));
    if (all_factors && !integer) {
      std::vector<double>& total = (*all_factors)[new_id] = affine->a;
      if (auto before = all_factors->find(old_id); before != all_factors->end())
        for (std::size_t c = 0; c < total.size(); ++c) total[c] *= before->second[c];
    }
    set_input(layer, factor_slot, new_id);
  }
  set_input(layer, "bias", graph.add_constant(name + ".bias", std::move(biases)));
  take_over(layer, *norm);
  return true;
}

}  // namespace

void fold_batch_norm(Graph& graph) {
  fold_batch_norm(graph, nullptr);
}

void fold_batch_norm(Graph& graph, Factors* factors) {
  Uses uses(graph);
  std::size_t folded = 0;  // bytes of weights that were read from the file and are not needed any more
  constexpr std::size_t kReleaseEvery = 8 << 20;
  for (Node& layer : graph.nodes) {
    if (spec_of(layer).kind != OpKind::kConvolution) continue;
    while (fold_next(graph, uses, layer, &folded, factors)) {
    }
    if (folded < kReleaseEvery || !graph.source) continue;
    graph.source->release_memory();
    folded = 0;
  }
  remove_taken_over(graph);
}

}  // namespace octet
