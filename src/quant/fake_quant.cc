#include "quant/fake_quant.h"

#include <algorithm>
#include <map>

#include "base/error.h"
#include "graph/op_table.h"
#include "passes/epilogues.h"

namespace octet::quant {

namespace {

constexpr const char *kInput = "._fake_quant_input", *kWeight = "._fake_quant_weight",
                     *kAlpha = "._act_preprocess.alpha";

Tensor ones(std::int64_t count) {
  return Tensor::of<float>({count}, std::vector<float>(static_cast<std::size_t>(count), 1.0f));
}

ValueId add_node(Graph& graph, std::vector<Node>& nodes, ValueId x, const std::string& name,
                 std::vector<ValueId> constants, const FakeQuant& how, std::int64_t axis) {
  Shape shape = graph.value(x).shape;
  const ValueId y = graph.add_value(name, DType::kFloat32, std::move(shape));
  constants.insert(constants.begin(), x);
  nodes.push_back({.op = "fake_quant",
                   .inputs = std::move(constants),
                   .outputs = {y},
                   .attrs = {{"method", how.method},
                             {"bits", std::int64_t{how.bits}},
                             {"axis", axis},
                             {"moving_rate", how.moving_rate}}});
  return y;
}

ValueId add_input_node(Graph& graph, std::vector<Node>& nodes, ValueId x, const std::string& layer,
                       const FakeQuant& how) {
  const std::string name = layer + kInput;
  std::vector<ValueId> constants = {graph.add_constant(name + "._scale", ones(1))};
  if (how.method != "lsq") {
    constants.push_back(how.method == "pact" ? graph.add_constant(layer + kAlpha, ones(1)) : kNoValue);
    constants.push_back(graph.add_constant(name + "._state", ones(1)));
    constants.push_back(graph.add_constant(name + "._accum", ones(1)));
  }
  return add_node(graph, nodes, x, name, std::move(constants), how, -1);
}

ValueId add_weight_node(Graph& graph, std::vector<Node>& nodes, ValueId weight, const std::string& layer,
                        const FakeQuant& how, std::int64_t axis) {
  const std::string name = layer + kWeight;
  const std::int64_t channels =
      how.per_channel ? graph.value(weight).shape[static_cast<std::size_t>(axis)] : std::int64_t{1};
  return add_node(graph, nodes, weight, name, {graph.add_constant(name + "._scale", ones(channels))}, how,
                  how.per_channel ? axis : -1);
}

float number(const paddle::StateDict& state, const std::string& name) {
  const Tensor tensor = state.at(name).aligned();
  if (tensor.size() < 1) fail("{} is empty", name);
  return tensor.cast(DType::kFloat32).data<float>()[0];
}

int bits_in(const paddle::StateDict& state, const std::string& name) {
  const auto bits = static_cast<int>(number(state, name));
  if (bits < 2 || bits > 8) fail("{} is {}, expected 2 to 8", name, bits);
  return bits;
}

// What a checkpoint says of a layer.
FakeQuantLayer layer_in(const paddle::StateDict& state, const std::string& name, std::int64_t channels) {
  const std::string input = name + kInput, weight = name + kWeight;
  const bool has_alpha = state.find(name + kAlpha) != nullptr,
             has_average = state.find(input + "._state") != nullptr;
  FakeQuantLayer layer;
  layer.input.method = has_alpha ? "pact" : has_average ? "moving_average" : "lsq";
  layer.input.bits = bits_in(state, input + "._bits");
  layer.input.moving_rate = static_cast<double>(number(state, input + "._moving_rate"));
  float range = number(state, input + "._scale");
  if (has_alpha) range = std::min(range, number(state, name + kAlpha));
  if (!(range > 0)) fail("{}: the range of its input is {}", name, range);
  const Tensor& scale = state.at(weight + "._scale");
  if (scale.dtype() != DType::kFloat32 || (scale.size() != 1 && scale.size() != channels))
    fail("{}._scale has {} elements, expected 1 or {}", weight, scale.size(), channels);
  layer.weight.method = state.find(weight + "._learned") ? "lsq" : "abs_max";
  layer.weight.bits = bits_in(state, weight + "._bits");
  layer.weight.per_channel = scale.size() != 1;
  return layer;
}

const Tensor& constant(const Graph& graph, const Node& node, std::size_t slot) {
  return graph.value(node.inputs[slot]).constant;
}

bool has(const Node& node, std::size_t slot) {
  return slot < node.inputs.size() && node.inputs[slot] != kNoValue;
}

}  // namespace

std::string layer_name(const std::string& weight) {
  constexpr std::string_view kSuffix = ".weight";
  return weight.ends_with(kSuffix) ? weight.substr(0, weight.size() - kSuffix.size()) : weight;
}

std::int64_t weight_axis(const Graph& graph, const Node& node) {
  if (node.inputs.size() < 2 || node.inputs[1] == kNoValue) return -1;
  const Value& weight = graph.value(node.inputs[1]);
  if (!weight.is_constant() || weight.dtype != DType::kFloat32) return -1;
  const bool is_product = weight.shape.size() == 2 &&
                          ((node.op == "matmul" && !attr<bool>(node, "transpose_x")) ||
                           (node.op == "matmul_flat" && attr<std::int64_t>(node, "y_num_col_dims") == 1));
  return node.op == "conv2d" || is_product ? weight_channel_axis(node) : -1;
}

bool is_trained(const Node& node) {
  return node.op == "fake_quant" && attr<std::string>(node, "method") != "fixed";
}

void insert_fake_quant(Graph& graph, const std::vector<FakeQuantLayer>& layers) {
  std::map<ValueId, FakeQuant> inputs;
  std::map<int, const FakeQuantLayer*> by_node;
  for (const FakeQuantLayer& layer : layers) {
    by_node[layer.node] = &layer;
    auto [it, fresh] =
        inputs.emplace(graph.nodes[static_cast<std::size_t>(layer.node)].inputs[0], layer.input);
    it->second.bits = std::max(it->second.bits, layer.input.bits);
  }
  std::vector<Node> nodes;
  std::map<ValueId, ValueId> quantized;
  for (int i = 0; i < static_cast<int>(graph.nodes.size()); ++i) {
    Node node = graph.nodes[static_cast<std::size_t>(i)];
    if (const auto found = by_node.find(i); found != by_node.end()) {
      const std::int64_t axis = weight_axis(graph, node);
      check(axis >= 0, "a node without weights is to be trained on integers");
      const ValueId x = node.inputs[0], weight = node.inputs[1];
      const std::string name = layer_name(graph.value(weight).name);
      if (!quantized.contains(x)) quantized[x] = add_input_node(graph, nodes, x, name, inputs.at(x));
      if (!quantized.contains(weight))
        quantized[weight] = add_weight_node(graph, nodes, weight, name, found->second->weight, axis);
      node.inputs[0] = quantized[x];
      node.inputs[1] = quantized[weight];
    }
    nodes.push_back(std::move(node));
  }
  graph.nodes = std::move(nodes);
}

bool read_fake_quant(Graph& graph, const paddle::StateDict& state) {
  std::vector<FakeQuantLayer> layers;
  for (int i = 0; i < static_cast<int>(graph.nodes.size()); ++i) {
    const Node& node = graph.nodes[static_cast<std::size_t>(i)];
    const std::int64_t axis = weight_axis(graph, node);
    if (axis < 0) continue;
    const Value& weight = graph.value(node.inputs[1]);
    const std::string name = layer_name(weight.name);
    if (!state.find(name + kInput + "._scale")) continue;
    layers.push_back(layer_in(state, name, weight.shape[static_cast<std::size_t>(axis)]));
    layers.back().node = i;
  }
  const std::size_t old_values = graph.values.size();
  insert_fake_quant(graph, layers);
  for (std::size_t id = old_values; id < graph.values.size(); ++id) {
    Value& value = graph.values[id];
    if (!value.is_constant()) continue;
    const Tensor tensor = state.at(value.name).cast(DType::kFloat32);
    if (tensor.size() != value.constant.size())
      fail("{} has {} elements, expected {}", value.name, tensor.size(), value.constant.size());
    value.constant = tensor.reshaped({tensor.size()});
  }
  return !layers.empty();
}

void write_fake_quant(const Graph& graph, paddle::StateDict& state) {
  for (const TrainedLayer& layer : trained_layers(graph)) {
    const Node &input = graph.nodes[static_cast<std::size_t>(layer.input)],
               &weight = graph.nodes[static_cast<std::size_t>(layer.weight)];
    const std::string name = layer_name(graph.value(weight.inputs[0]).name), input_name = name + kInput,
                      weight_name = name + kWeight;
    const auto bits_of = [](const Node& node) {
      return Tensor::of<std::int64_t>({1}, {attr<std::int64_t>(node, "bits")});
    };
    state.set(input_name + "._scale", {constant(graph, input, 1)});
    if (has(input, 3)) {
      state.set(input_name + "._state", {constant(graph, input, 3)});
      state.set(input_name + "._accum", {constant(graph, input, 4)});
    }
    if (has(input, 2)) state.set(name + kAlpha, {constant(graph, input, 2)});
    state.set(input_name + "._bits", {bits_of(input)});
    state.set(input_name + "._moving_rate", {Tensor::of<float>({1}, {attr<float>(input, "moving_rate")})});
    state.set(weight_name + "._scale", {constant(graph, weight, 1)});
    state.set(weight_name + "._bits", {bits_of(weight)});
    if (attr<std::string>(weight, "method") == "lsq")
      state.set(weight_name + "._learned", {Tensor::of<std::int64_t>({1}, {1})});
  }
}

std::vector<TrainedLayer> trained_layers(const Graph& graph) {
  std::map<ValueId, int> trained;  // which node makes it
  std::vector<TrainedLayer> layers;
  for (int i = 0; i < static_cast<int>(graph.nodes.size()); ++i) {
    const Node& node = graph.nodes[static_cast<std::size_t>(i)];
    if (is_trained(node)) {
      trained[node.outputs[0]] = i;
      continue;
    }
    if (node.inputs.size() < 2) continue;
    const auto input = trained.find(node.inputs[0]), weight = trained.find(node.inputs[1]);
    if (input != trained.end() && weight != trained.end())
      layers.push_back({i, input->second, weight->second});
  }
  return layers;
}

Graph float_graph(Graph graph) {
  std::map<ValueId, ValueId> floats;
  for (const Node& node : graph.nodes)
    if (is_trained(node)) floats[node.outputs[0]] = node.inputs[0];
  const auto clear = [&](ValueId id) {
    if (id != kNoValue) graph.value(id) = {};  // nobody reads it, and it must not stand in the way of a name
  };
  for (Node& node : graph.nodes) {
    if (is_trained(node)) {
      std::for_each(node.inputs.begin() + 1, node.inputs.end(), clear);
      clear(node.outputs[0]);
    }
    for (ValueId& id : node.inputs)
      if (const auto found = floats.find(id); found != floats.end()) id = found->second;
  }
  std::erase_if(graph.nodes, is_trained);
  return graph;
}

}  // namespace octet::quant
