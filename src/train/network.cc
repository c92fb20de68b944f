#include "train/network.h"

#include <algorithm>
#include <array>

#include "train/batch_norm.h"
#include "train/convert.h"
#include "train/quantization.h"

namespace octet::train {

namespace {

// The inputs of ops that are learned when they are constants.
struct Slots {
  std::string_view op;
  std::array<int, 3> inputs;
};
constexpr Slots kLearned[] = {
    {"conv2d", {1, 2, -1}},     {"conv2d_transpose", {1, 2, -1}},
    {"matmul", {0, 1, 2}},      {"matmul_flat", {0, 1, 2}},
    {"batch_norm", {1, 2, -1}}, {"layer_norm", {1, 2, -1}},
    {"add", {0, 1, -1}},        {"sub", {0, 1, -1}},
    {"mul", {0, 1, -1}},        {"div", {0, 1, -1}},
};

bool is_learned_slot(std::string_view op, int input) {
  const auto* slots = std::ranges::find(kLearned, op, &Slots::op);
  return slots != std::end(kLearned) && std::ranges::find(slots->inputs, input) != slots->inputs.end();
}

bool is_statistic_slot(std::string_view op, std::size_t input) {
  return op == "batch_norm" && (input == 3 || input == 4);
}

// Ops whose result holds only numbers that were there before: rounding it again changes nothing.
bool keeps_numbers(const Node& node) {
  constexpr std::string_view kOps[] = {"relu",   "reshape", "flatten", "squeeze",   "unsqueeze", "transpose",
                                       "concat", "split",   "slice",   "identity",  "observe",   "pad",
                                       "max",    "min",     "abs",     "reduce_max"};
  if (node.op == "pool2d") return attr<std::string>(node, "type") == "max";
  return std::ranges::find(kOps, node.op) != std::end(kOps);
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
      if (!is_learned_slot(node.op, static_cast<int>(i))) return false;
      learned = true;
    }
  }
  return learned;
}

Network::Network(Graph graph, at::Device device) : graph_(std::move(graph)), device_(device) {
  const std::size_t values = graph_.values.size();
  weight_of_.assign(values, -1);
  fixed_.resize(values);
  std::vector<int> last_use(values, -1);
  for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
    const Node& node = graph_.nodes[n];
    const bool is_batch_norm = node.op == "batch_norm";
    Operation operation = is_batch_norm ? nullptr : find_operation(node.op);
    if (!is_batch_norm && !operation) operation = find_quantization(node.op);
    if (!is_batch_norm && !operation) fail("{}: libtorch has no such op", describe(graph_, node));
    operations_.push_back(operation);
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId id = node.inputs[i];
      if (id == kNoValue) continue;
      last_use[static_cast<std::size_t>(id)] = static_cast<int>(n);
      const Value& value = graph_.value(id);
      if (!value.is_constant() || weight_of_[static_cast<std::size_t>(id)] >= 0 ||
          fixed_[static_cast<std::size_t>(id)].defined())
        continue;
      const at::Tensor tensor = to_torch(value.constant).to(device_);
      if (is_trainable(graph_, id)) {
        weight_of_[static_cast<std::size_t>(id)] = static_cast<int>(parameters_.size());
        parameters_.push_back({value.name, id, in_memory_order(tensor).set_requires_grad(true)});
      } else {
        fixed_[static_cast<std::size_t>(id)] = tensor;
        if (is_statistic_slot(node.op, i)) statistics_.push_back({value.name, id, tensor});
      }
    }
  }
  last_uses_.resize(graph_.nodes.size());
  for (std::size_t id = 0; id < values; ++id)
    if (last_use[id] >= 0)
      last_uses_[static_cast<std::size_t>(last_use[id])].push_back(static_cast<ValueId>(id));
}

at::Tensor Network::batch_norm(const Call& call) {
  const at::Tensor &scale = call.inputs[1], &bias = call.inputs[2], &mean = call.inputs[3],
                   &variance = call.inputs[4];
  const double momentum = 1 - attr<double>(call.node, "momentum"),
               epsilon = attr<double>(call.node, "epsilon");
  if (!training || freeze_statistics)
    return at::batch_norm(call.x(), scale, bias, mean, variance, false, momentum, epsilon, true);
  return train::batch_norm(call.x(), scale, bias, mean, variance, momentum, epsilon,
                           sync && sync->size() > 1 ? sync : nullptr);
}

void Network::run(const Node& node, Operation operation, std::vector<at::Tensor>& values,
                  std::vector<at::Tensor>& lowered) {
  const auto quantizer = quantizers_.find(&node);
  const bool is_quantized = quantizer != quantizers_.end();  // then its precision is a matter of its own
  const Cast cast = is_quantized ? Cast::kKeep : cast_for(node.op, precision.level);
  std::vector<at::Tensor> inputs;
  for (ValueId id : node.inputs) {
    if (id == kNoValue) {
      inputs.emplace_back();
      continue;
    }
    const auto i = static_cast<std::size_t>(id);
    at::Tensor input = weight_of_[i] >= 0    ? parameters_[static_cast<std::size_t>(weight_of_[i])].tensor
                       : fixed_[i].defined() ? fixed_[i]
                                             : values[i];
    if (input.is_floating_point() && cast == Cast::kLow) {
      if (!lowered[i].defined()) lowered[i] = lower(input, precision);
      input = lowered[i];
    } else if (input.is_floating_point() && cast == Cast::kFloat) {
      input = input.to(at::kFloat);
    }
    inputs.push_back(std::move(input));
  }
  const Call call{node, inputs, training, step};
  std::vector<at::Tensor> outputs;
  if (is_quantized) {
    outputs.push_back(quantized_layer(node, quantizer->second, inputs[0], inputs[1], call.optional(2),
                                      training, precision));
  } else if (operation) {
    outputs = operation(call);
  } else {
    outputs.push_back(batch_norm(call));
  }
  for (std::size_t o = 0; o < node.outputs.size() && o < outputs.size(); ++o) {
    if (node.outputs[o] == kNoValue) continue;
    const auto id = static_cast<std::size_t>(node.outputs[o]);
    values[id] = outputs[o];
    if (cast != Cast::kLow || !outputs[o].is_floating_point()) continue;
    if (!keeps_numbers(node)) values[id] = round_result(outputs[o], precision);
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
      run(graph_.nodes[n], operations_[n], values, lowered);
    } catch (const c10::Error& error) {
      fail("{}: {}", describe(graph_, graph_.nodes[n]), error.what_without_backtrace());
    }
    for (ValueId id : last_uses_[n]) {
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
      if (weight.id != kNoValue) graph.value(weight.id).constant = from_torch(weight.tensor);
  return graph;
}

}  // namespace octet::train
