#include "quant/shift_inputs.h"

#include <algorithm>
#include <limits>

#include "graph/op_table.h"
#include "passes/epilogues.h"
#include "passes/uses.h"

namespace octet::quant {

namespace {

constexpr double kLittle = 0.2;  // of the largest magnitude, that the negative numbers of a tensor may reach

std::int64_t channel_axis(const Graph& graph, ValueId made) {
  return graph.value(made).shape.size() == 4 ? 1 : -1;
}

bool is_relu(const Node& node) {
  return node.op == "relu" || (node.op == "relu6" && attr<float>(node, "threshold") > 0);
}

// The node that makes what `reader` reads, if nobody else reads that; -1: there is none.
int only_maker(const Uses& uses, ValueId read) {
  return uses.only_for_one(read) ? uses.producer(read) : -1;
}

// Whether the layer's input is max(0, z + bias), made for it alone, and each of its taps lies on the image.
bool can_shift(const Graph& graph, const Uses& uses, const Node& layer) {
  if (layer.op != "conv2d" || attr<std::int64_t>(layer, "groups") != 1) return false;
  const ValueId weight = weights_of(layer);
  if (!has_one_tap(layer, graph.value(weight).shape) || uses.consumers(weight).size() != 1) return false;
  const int activation = only_maker(uses, layer.inputs[0]);
  if (activation < 0 || !is_relu(graph.nodes[static_cast<std::size_t>(activation)])) return false;
  const int sum = only_maker(uses, graph.nodes[static_cast<std::size_t>(activation)].inputs[0]);
  if (sum < 0) return false;
  const Node& add = graph.nodes[static_cast<std::size_t>(sum)];
  if (add.op != "add" || attr<std::int64_t>(add, "axis") != 1) return false;
  const int before = uses.producer(add.inputs[0]);
  if (before < 0 || !is_product(graph.nodes[static_cast<std::size_t>(before)])) return false;
  const Value& bias = graph.value(add.inputs[1]);
  return bias.is_constant() && bias.dtype == DType::kFloat32 && uses.consumers(add.inputs[1]).size() == 1 &&
         bias.constant.size() == graph.value(weight).shape[1];
}

// Whether the layer is a product whose input, made for it alone, is small beside its work, so that a
// subtraction of its own costs next to nothing.
bool has_small_input(const Graph& graph, const Uses& uses, const Node& layer) {
  constexpr std::int64_t kManyOutputs = 512;  // multiplications for each number of the input
  if (layer.op != "matmul" && layer.op != "matmul_flat") return false;
  if (layer.op == "matmul" && (attr<bool>(layer, "transpose_x") || attr<bool>(layer, "transpose_y")))
    return false;
  const ValueId weight = weights_of(layer);
  const Shape& shape = graph.value(weight).shape;
  if (shape.size() != 2 || shape[1] < kManyOutputs || uses.consumers(weight).size() != 1) return false;
  const int maker = only_maker(uses, layer.inputs[0]);
  return maker >= 0 && graph.nodes[static_cast<std::size_t>(maker)].outputs.size() == 1;
}

// Where [0, high] has the least squared error; zeros have none.
double best_top(const Histogram& histogram, double levels) {
  const auto bins = static_cast<int>(histogram.counts.size());
  double best = histogram.high, least = std::numeric_limits<double>::infinity(), all = 0;
  for (std::size_t bin = 1; bin < histogram.counts.size(); ++bin) all += histogram.counts[bin];
  for (int top = bins; top >= bins / 4; top -= bins / 32) {
    const double end = top * histogram.width(), step = end / levels;
    double error = all * step * step / 12;
    for (int bin = top; bin < bins; ++bin) {
      const double beyond = (bin + 0.5) * histogram.width() - end;
      error += histogram.counts[static_cast<std::size_t>(bin)] * beyond * beyond;
    }
    if (error < least) least = error, best = end;
  }
  return best;
}

// What a shift of all inputs by `centre` is for each output, which the weights have along `axis`.
std::vector<double> shift_of_outputs(const Tensor& weight, std::int64_t axis, float centre) {
  std::vector<double> result(static_cast<std::size_t>(weight.dim(static_cast<int>(axis))));
  const auto w = weight.data<float>();
  for_channels(weight.shape(), axis, [&](std::size_t c, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i)
      result[c] += static_cast<double>(w[i]) * static_cast<double>(centre);
  });
  return result;
}

void subtract_behind(Graph& graph, int maker, float centre) {
  Node& node = graph.nodes[static_cast<std::size_t>(maker)];
  const ValueId read = node.outputs[0];
  const std::string name = graph.value(read).name;
  const ValueId activated =
      graph.add_value(name + ".activated", DType::kFloat32, Shape(graph.value(read).shape));
  const ValueId constant = graph.add_constant(name + ".shift", Tensor::of<float>({1}, {-centre}));
  node.outputs[0] = activated;
  graph.nodes.insert(graph.nodes.begin() + maker + 1, Node{.op = "add",
                                                           .inputs = {activated, constant},
                                                           .outputs = {read},
                                                           .attrs = {{"axis", std::int64_t{-1}}}});
}

}  // namespace

std::map<ValueId, InputShift> shift_inputs(Graph& graph, const InsertionPoints& points,
                                           const Calibration& calibration, int bits, bool clips_symmetrically,
                                           std::vector<ValueId>* changed) {
  struct Place {
    ValueId read, made;
    std::int64_t axis;  // of the weights' outputs
    bool by_own_op;
  };
  std::vector<Place> places;
  {
    const Uses uses(graph);
    for (const Layer& layer : points.layers) {
      const Node& node = node_of(graph, layer);
      const bool by_relu = layer.weights && can_shift(graph, uses, node);
      if (by_relu || (layer.weights && has_small_input(graph, uses, node)))
        places.push_back({node.inputs[0], node.outputs[0], layer.axis, !by_relu});
    }
  }
  const int above = (1 << (bits - 1)) - 1, below = clips_symmetrically ? above : above + 1;
  std::map<ValueId, InputShift> shifts;
  for (const auto& [read, made, axis, by_own_op] : places) {
    const auto seen = calibration.tensors.find(graph.value(read).name);
    if (seen == calibration.tensors.end() || seen->second.empty() || !(seen->second.abs_max > 0)) continue;
    const double low =
        std::min(0.0, static_cast<double>(seen->second.min));  // of a swish it is a little less
    if (-low > kLittle * static_cast<double>(seen->second.abs_max)) continue;
    constexpr int kBins = 2048;
    const double top = best_top(
        seen->second.histogram.rebin(0, static_cast<double>(seen->second.abs_max), kBins), above + below);
    InputShift shift;
    shift.by_own_op = by_own_op;
    shift.top = top;
    const double step = (top - low) / (above + below);
    shift.centre = static_cast<float>(low + step * below);
    shift.threshold = static_cast<float>(step * above);
    const Uses uses(graph);
    const Node& layer = graph.nodes[static_cast<std::size_t>(uses.producer(made))];
    shift.of_outputs =
        shift_of_outputs(graph.value(weights_of(layer)).constant.aligned(), axis, shift.centre);
    subtract_behind(graph, uses.producer(read), shift.centre);
    add_to_channels(graph, made, shift.of_outputs, channel_axis(graph, made));
    changed->insert(changed->end(), {read, made});
    shifts.emplace(read, std::move(shift));
  }
  if (!shifts.empty()) infer_shapes(graph);
  return shifts;
}

void settle_shifts(Graph& graph, const std::map<ValueId, InputShift>& shifts) {
  if (shifts.empty()) return;
  const Uses uses(graph);
  std::set<int> gone;
  std::vector<std::pair<ValueId, std::vector<double>>> taken_back;
  for (const auto& [read, shift] : shifts) {
    const int subtraction = uses.producer(read);
    const ValueId activated = graph.nodes[static_cast<std::size_t>(subtraction)].inputs[0];
    Node& reader = graph.nodes[static_cast<std::size_t>(uses.consumers(read).front())];
    if (shift.by_own_op && !is_product(reader)) continue;
    gone.insert(subtraction);
    if (is_product(reader)) {
      reader.inputs[0] = activated;
      std::vector<double>& numbers = taken_back.emplace_back(reader.outputs[0], shift.of_outputs).second;
      for (double& number : numbers) number = -number;
      continue;
    }
    const int activation = uses.producer(activated);
    gone.insert(activation);
    const ValueId sum = graph.nodes[static_cast<std::size_t>(activation)].inputs[0];
    Node& add = graph.nodes[static_cast<std::size_t>(uses.producer(sum))];
    Value& bias = graph.value(add.inputs[1]);
    Tensor lowered = bias.constant.clone();
    for (float& number : lowered.mutable_data<float>()) number -= shift.centre;
    bias.constant = std::move(lowered);
    add.outputs[0] = read;
  }
  std::vector<Node> nodes;
  for (int i = 0; i < static_cast<int>(graph.nodes.size()); ++i)
    if (!gone.contains(i)) nodes.push_back(std::move(graph.nodes[static_cast<std::size_t>(i)]));
  graph.nodes = std::move(nodes);
  for (const auto& [made, numbers] : taken_back)
    add_to_channels(graph, made, numbers, channel_axis(graph, made));
}

}  // namespace octet::quant
