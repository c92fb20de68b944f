#include "train/network.h"

#include <algorithm>

#include "base/glob.h"
#include "base/nearest.h"
#include "graph/op_table.h"
#include "quant/deployable.h"
#include "quant/fake_quant.h"
#include "train/batch_norm.h"
#include "train/convert.h"
#include "train/fake_quant.h"
#include "train/quantized_ops.h"

namespace octet::train {

namespace {

// What the op table says of slots; a fake_quant node has what its method needs of it.
bool learns(const Node& node, std::size_t i) {
  if (node.op != "fake_quant") return is_learned(node, i);
  const bool is_scale = slot_at(node, i) == "scale";
  return quant::is_trained(node) && is_learned(node, i) &&
         (!is_scale || attr<std::string>(node, "method") == "lsq");
}

bool keeps(const Node& node, std::size_t i) {
  if (node.op != "fake_quant") return is_statistic(node, i);
  return quant::is_trained(node) && is_statistic(node, i) && attr<std::string>(node, "method") != "abs_max";
}

at::Tensor in_memory_order(const at::Tensor& tensor) {
  return tensor.dim() == 4 ? tensor.contiguous(at::MemoryFormat::ChannelsLast) : tensor.contiguous();
}

}  // namespace

bool is_trainable(const Graph& graph, ValueId id) {
  if (!graph.value(id).is_constant() || graph.value(id).dtype != DType::kFloat32) return false;
  bool learned = false;
  for (const Node& node : graph.nodes) {
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i] != id) continue;
      if (!learns(node, i)) return false;
      learned = true;
    }
  }
  return learned;
}

Network::Network(Graph graph, at::Device device) : graph_(std::move(graph)), device_(device) {
  build();
}

void Network::build() {
  const std::size_t values = graph_.values.size();
  tasks_.assign(graph_.nodes.size(), {});
  weight_of_.assign(values, -1);
  fixed_.assign(values, {});
  parameters_.clear();
  statistics_.clear();
  std::vector<int> readers(values, 0), last_use(values, -1);
  for (const Node& node : graph_.nodes)
    for (ValueId id : node.inputs)
      if (id != kNoValue) ++readers[static_cast<std::size_t>(id)];
  for (ValueId id : graph_.outputs) ++readers[static_cast<std::size_t>(id)];
  for (const quant::TrainedLayer& layer : quant::trained_layers(graph_)) {
    tasks_[static_cast<std::size_t>(layer.node - graph_.nodes.data())].layer = layer;
    for (const Node* part : {layer.input, layer.weight})
      --readers[static_cast<std::size_t>(part->outputs[0])];
  }

  std::vector<Weight> ranges, averages;  // of fake_quant nodes: behind the others
  for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
    const Node& node = graph_.nodes[n];
    Task& task = tasks_[n];
    if (quant::is_trained(node)) {
      is_quantized_ = true;
      task.operation = trained_fake_quant;
      task.is_skipped = readers[static_cast<std::size_t>(node.outputs[0])] == 0;
    } else if (node.op != "batch_norm") {
      task.operation = find_operation(node.op);
      if (!task.operation) task.operation = find_quantization(node.op);
      if (!task.operation) fail("{}: libtorch has no such op", describe(graph_, node));
    }
    for (std::size_t i = 0; i < node.inputs.size(); ++i)
      if (node.inputs[i] != kNoValue) add_constant(node, i, ranges, averages);
    for (const Node* reader : {&node, task.layer.input, task.layer.weight})
      for (ValueId id : reader ? reader->inputs : std::vector<ValueId>())
        if (id != kNoValue) last_use[static_cast<std::size_t>(id)] = static_cast<int>(n);
  }
  for (Weight& range : ranges) {
    weight_of_[static_cast<std::size_t>(range.id)] = static_cast<int>(parameters_.size());
    parameters_.push_back(std::move(range));
  }
  std::ranges::move(averages, std::back_inserter(statistics_));
  for (std::size_t id = 0; id < values; ++id)
    if (last_use[id] >= 0)
      tasks_[static_cast<std::size_t>(last_use[id])].last_uses.push_back(static_cast<ValueId>(id));
}

void Network::add_constant(const Node& node, std::size_t slot, std::vector<Weight>& ranges,
                           std::vector<Weight>& averages) {
  const ValueId id = node.inputs[slot];
  const Value& value = graph_.value(id);
  const auto i = static_cast<std::size_t>(id);
  if (!value.is_constant() || weight_of_[i] >= 0 || fixed_[i].defined()) return;
  const bool is_range = slot > 0 && quant::is_trained(node);
  const at::Tensor tensor = to_torch(value.constant);
  if (is_trainable(graph_, id)) {
    const at::Tensor parameter = in_memory_order(tensor.to(device_)).set_requires_grad(true);
    if (!is_range) weight_of_[i] = static_cast<int>(parameters_.size());
    (is_range ? ranges : parameters_).push_back({value.name, id, parameter, is_range});
    return;
  }
  fixed_[i] = is_range ? tensor : tensor.to(device_);  // moving averages are numbers that the CPU works with
  if (keeps(node, slot)) (is_range ? averages : statistics_).push_back({value.name, id, fixed_[i]});
}

void Network::freeze(const std::vector<std::string>& globs) {
  if (globs.empty()) return;
  std::vector<std::string> names;
  for (const Weight& weight : parameters_) names.push_back(weight.name);
  for (const std::string& glob : globs) {
    bool fits = false;
    for (Weight& weight : parameters_) {
      if (!matches(glob, weight.name)) continue;
      fits = weight.is_frozen = true;
      weight.tensor.set_requires_grad(false);
    }
    if (fits) continue;
    const std::string meant = nearest(glob, names);
    fail("--freeze {}: no parameter has such a name; {}", glob,
         meant.empty() ? fmt::format("there are {}, ..., {}", names.front(), names.back())
                       : fmt::format("did you mean {}?", meant));
  }
  if (std::ranges::all_of(parameters_, &Weight::is_frozen))
    fail("--freeze {}: nothing is left to train", fmt::join(globs, " "));
}

at::Tensor Network::batch_norm(const Call& call) {
  const at::Tensor &scale = call.inputs[1], &bias = call.inputs[2], &mean = call.inputs[3],
                   &variance = call.inputs[4];
  const double momentum = 1 - attr<double>(call.node, "momentum"),
               epsilon = attr<double>(call.node, "epsilon");
  const int weight = weight_of_[static_cast<std::size_t>(call.node.inputs[1])];
  const bool is_frozen = weight >= 0 && parameters_[static_cast<std::size_t>(weight)].is_frozen;
  if (!training || freeze_statistics || is_frozen)
    return at::batch_norm(call.x().to(at::kFloat), scale, bias, mean, variance, false, momentum, epsilon,
                          true)
        .to(call.x().scalar_type());
  return train::batch_norm(call.x(), scale, bias, mean, variance, momentum, epsilon,
                           sync && sync->size() > 1 ? sync : nullptr);
}

std::vector<at::Tensor> Network::inputs_of(const Node& node, const std::vector<at::Tensor>& values) const {
  std::vector<at::Tensor> inputs;
  for (ValueId id : node.inputs) {
    const auto i = static_cast<std::size_t>(id);
    if (id == kNoValue)
      inputs.emplace_back();
    else if (weight_of_[i] >= 0)
      inputs.push_back(parameters_[static_cast<std::size_t>(weight_of_[i])].tensor);
    else
      inputs.push_back(fixed_[i].defined() ? fixed_[i] : values[i]);
  }
  return inputs;
}

// What a CPU's own 16 bits gain is mostly memory that is not read and written: there a result stays in them
// until an op needs floats. Batch norms sum up in float whatever they read.
Cast Network::cast_of(const Node& node, const std::vector<at::Tensor>& inputs) const {
  const Cast cast = cast_for(node.op, precision.level);
  if (precision.level == Amp::kOff || precision.rounded || !device_.is_cpu()) return cast;
  if (node.op == "batch_norm") return Cast::kKeep;
  if (cast != Cast::kKeep) return cast;
  bool is_low = false;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].defined() || !inputs[i].is_floating_point()) continue;
    if (inputs[i].scalar_type() == precision.dtype)
      is_low = true;
    else if (!graph_.value(node.inputs[i]).is_constant())
      return cast;
  }
  return is_low ? Cast::kLow : cast;
}

void Network::run(const Node& node, const Task& task, std::vector<at::Tensor>& values,
                  std::vector<at::Tensor>& lowered) {
  if (task.is_skipped) return;
  const auto& [layer, input, weight] = task.layer;
  const bool is_quantized = layer != nullptr;  // then its precision is a matter of its own
  std::vector<at::Tensor> inputs = inputs_of(node, values);
  const Cast cast = is_quantized ? Cast::kKeep : cast_of(node, inputs);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].defined() || !inputs[i].is_floating_point()) continue;
    if (cast == Cast::kLow) {
      at::Tensor& low = lowered[static_cast<std::size_t>(node.inputs[i])];
      if (!low.defined()) low = lower(inputs[i], precision);
      inputs[i] = low;
    } else if (cast == Cast::kFloat) {
      inputs[i] = inputs[i].to(at::kFloat);
    }
  }
  const Call call{node, inputs, training, step};
  std::vector<at::Tensor> outputs;
  if (is_quantized) {
    const std::vector<at::Tensor> x = inputs_of(*input, values), w = inputs_of(*weight, values);
    outputs.push_back(quantized_layer(node, {input_quantizer(*input, x), weight_quantizer(*weight, w)}, x[0],
                                      w[0], call.optional(2), training, precision));
  } else if (task.operation) {
    outputs = task.operation(call);
  } else {
    outputs.push_back(batch_norm(call));
  }
  for (std::size_t o = 0; o < node.outputs.size() && o < outputs.size(); ++o) {
    if (node.outputs[o] == kNoValue) continue;
    const auto id = static_cast<std::size_t>(node.outputs[o]);
    values[id] = outputs[o];
    if (cast != Cast::kLow || !outputs[o].is_floating_point()) continue;
    if (!keeps_values(node)) values[id] = round_result(outputs[o], precision);
    lowered[id] = values[id];
  }
}

std::vector<at::Tensor> Network::forward(const std::vector<at::Tensor>& inputs,
                                         const std::vector<ValueId>& wanted) {
  check(inputs.size() == graph_.inputs.size(), "a network is run with another number of inputs than it has");
  std::vector<at::Tensor> values(graph_.values.size()), lowered(graph_.values.size());
  std::vector<bool> keep(graph_.values.size());
  for (ValueId id : wanted) keep[static_cast<std::size_t>(id)] = true;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    values[static_cast<std::size_t>(graph_.inputs[i])] = in_memory_order(inputs[i].to(device_));
  for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
    try {
      run(graph_.nodes[n], tasks_[n], values, lowered);
    } catch (const c10::Error& error) {
      fail("{}: {}", describe(graph_, graph_.nodes[n]), error.what_without_backtrace());
    }
    for (ValueId id : tasks_[n].last_uses) {
      lowered[static_cast<std::size_t>(id)].reset();
      if (!keep[static_cast<std::size_t>(id)]) values[static_cast<std::size_t>(id)].reset();
    }
  }
  std::vector<at::Tensor> results;
  for (ValueId id : wanted) results.push_back(values[static_cast<std::size_t>(id)]);
  return results;
}

at::Tensor Network::forward(const at::Tensor& x) {
  return forward({x}, {graph_.outputs.at(0)}).at(0);
}

Graph Network::bake() const {
  Graph graph = graph_;
  for (const auto* weights : {&parameters_, &statistics_})
    for (const Weight& weight : *weights)
      graph.value(weight.id).constant =
          from_torch(weight.is_range ? weight.tensor.detach().clamp_min(kSmallestRange) : weight.tensor);
  for (const Node& node : graph.nodes) {
    if (!quant::is_trained(node) || attr<std::string>(node, "method") != "abs_max") continue;
    const std::vector<at::Tensor> inputs = inputs_of(node, {});
    graph.value(input_of(node, "scale")).constant =
        from_torch(weight_quantizer(node, inputs).abs_max(inputs[0]));
  }
  return graph;
}

Graph Network::deployed(bool onnx_format) const {
  return quant::deployable(bake(), onnx_format);
}

}  // namespace octet::train
