#include "quant/fake_quant.h"

#include <algorithm>
#include <map>

#include "base/error.h"
#include "graph/op_table.h"

namespace octet::quant {

namespace {

constexpr const char *kInput = "._fake_quant_input", *kWeight = "._fake_quant_weight",
                     *kAlpha = "._act_preprocess.alpha";

// Adds nodes to `nodes`, and what they need to the graph.
struct Inserter {
  Graph& graph;
  std::vector<Node> nodes = {};

  ValueId range(const std::string& name, std::int64_t count = 1) {
    const std::vector<float> ones(static_cast<std::size_t>(count), 1.0f);
    return graph.add_constant(name, Tensor::of<float>({count}, ones));
  }

  ValueId add(const std::string& name, std::vector<ValueId> inputs, const FakeQuant& how, std::int64_t axis) {
    Shape shape = graph.value(inputs[0]).shape;
    const ValueId y = graph.add_value(name, DType::kFloat32, std::move(shape));
    nodes.push_back({.op = "fake_quant",
                     .inputs = std::move(inputs),
                     .outputs = {y},
                     .attrs = {{"method", how.method},
                               {"bits", std::int64_t{how.bits}},
                               {"axis", axis},
                               {"moving_rate", how.moving_rate}}});
    return y;
  }

  ValueId add_input(ValueId x, const std::string& layer, const FakeQuant& how) {
    const std::string name = layer + kInput;
    std::vector<ValueId> inputs = {x, range(name + "._scale")};
    if (how.method != "lsq") {
      inputs.push_back(how.method == "pact" ? range(layer + kAlpha) : kNoValue);
      inputs.push_back(range(name + "._state"));
      inputs.push_back(range(name + "._accum"));
    }
    return add(name, std::move(inputs), how, -1);
  }

  ValueId add_weight(ValueId weight, const std::string& layer, const FakeQuant& how, std::int64_t axis) {
    const std::string name = layer + kWeight;
    if (!how.per_channel) return add(name, {weight, range(name + "._scale")}, how, -1);
    const std::int64_t channels = graph.value(weight).shape[static_cast<std::size_t>(axis)];
    return add(name, {weight, range(name + "._scale", channels)}, how, axis);
  }
};

float number(const StateDict& state, const std::string& name) {
  const Tensor tensor = state.at(name).aligned();
  if (tensor.size() < 1) fail("{} is empty", name);
  return tensor.cast(DType::kFloat32).data<float>()[0];
}

int bits_in(const StateDict& state, const std::string& name) {
  const auto bits = static_cast<int>(number(state, name));
  if (bits < 2 || bits > 8) fail("{} is {}, expected 2 to 8", name, bits);
  return bits;
}

// What a checkpoint says of a layer.
FakeQuantLayer layer_in(const StateDict& state, const std::string& name, std::int64_t channels) {
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

}  // namespace

std::string layer_name(const std::string& weight) {
  constexpr std::string_view kSuffix = ".weight";
  return weight.ends_with(kSuffix) ? weight.substr(0, weight.size() - kSuffix.size()) : weight;
}

std::int64_t weight_axis(const Graph& graph, const Node& node) {
  const ValueId id = weights_of(node);
  if (id == kNoValue || !graph.value(id).is_constant() || graph.value(id).dtype != DType::kFloat32) return -1;
  const bool is_matrix = graph.value(id).shape.size() == 2 &&
                         ((node.op == "matmul" && !attr<bool>(node, "transpose_x")) ||
                          (node.op == "matmul_flat" && attr<std::int64_t>(node, "y_num_col_dims") == 1));
  return node.op == "conv2d" || is_matrix ? weight_channel_axis(graph, node) : -1;
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
  Inserter inserter{graph};
  std::map<ValueId, ValueId> quantized;
  for (int i = 0; i < static_cast<int>(graph.nodes.size()); ++i) {
    Node node = graph.nodes[static_cast<std::size_t>(i)];
    if (const auto found = by_node.find(i); found != by_node.end()) {
      const std::int64_t axis = weight_axis(graph, node);
      check(axis >= 0, "a node without weights is to be trained on integers");
      const ValueId x = node.inputs[0], weight = weights_of(node);
      const std::string name = layer_name(graph.value(weight).name);
      if (!quantized.contains(x)) quantized[x] = inserter.add_input(x, name, inputs.at(x));
      if (!quantized.contains(weight))
        quantized[weight] = inserter.add_weight(weight, name, found->second->weight, axis);
      node.inputs[0] = quantized[x];
      set_input(node, spec_of(node).weights, quantized[weight]);
    }
    inserter.nodes.push_back(std::move(node));
  }
  graph.nodes = std::move(inserter.nodes);
}

bool read_fake_quant(Graph& graph, const StateDict& state) {
  std::vector<FakeQuantLayer> layers;
  for (int i = 0; i < static_cast<int>(graph.nodes.size()); ++i) {
    const Node& node = graph.nodes[static_cast<std::size_t>(i)];
    const std::int64_t axis = weight_axis(graph, node);
    if (axis < 0) continue;
    const Value& weight = graph.value(weights_of(node));
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

void write_fake_quant(const Graph& graph, StateDict& state) {
  for (const auto& [node, input, weight] : trained_layers(graph)) {
    const std::string name = layer_name(graph.value(weight->inputs[0]).name);
    const auto set = [&](const std::string& entry, const Node& from, std::size_t slot) {
      if (slot < from.inputs.size() && from.inputs[slot] != kNoValue)
        state.set(name + entry, {graph.value(from.inputs[slot]).constant});
    };
    const auto set_bits = [&](const std::string& entry, const Node& from) {
      state.set(name + entry, {Tensor::of<std::int64_t>({1}, {attr<std::int64_t>(from, "bits")})});
    };
    set("._fake_quant_input._scale", *input, 1);
    set("._fake_quant_input._state", *input, 3);
    set("._fake_quant_input._accum", *input, 4);
    set("._act_preprocess.alpha", *input, 2);
    set_bits("._fake_quant_input._bits", *input);
    state.set(name + "._fake_quant_input._moving_rate",
              {Tensor::of<float>({1}, {attr<float>(*input, "moving_rate")})});
    set("._fake_quant_weight._scale", *weight, 1);
    set_bits("._fake_quant_weight._bits", *weight);
    if (attr<std::string>(*weight, "method") == "lsq")
      state.set(name + "._fake_quant_weight._learned", {Tensor::of<std::int64_t>({1}, {1})});
  }
}

std::vector<TrainedLayer> trained_layers(const Graph& graph) {
  std::map<ValueId, const Node*> trained;  // which node makes it
  std::vector<TrainedLayer> layers;
  for (const Node& node : graph.nodes) {
    if (is_trained(node)) {
      trained[node.outputs[0]] = &node;
    } else if (node.inputs.size() >= 2) {
      const auto input = trained.find(node.inputs[0]), weight = trained.find(weights_of(node));
      if (input != trained.end() && weight != trained.end())
        layers.push_back({&node, input->second, weight->second});
    }
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
