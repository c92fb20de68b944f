#include "models/new_head.h"

#include <algorithm>

#include "base/error.h"
#include "graph/op_table.h"
#include "models/init.h"

namespace octet::models {

namespace {

struct Head {
  ValueId weights = kNoValue;
  std::size_t axis = 0;         // of the weights: the classes
  std::vector<ValueId> biases;  // constants with a number for each class
  std::string problem;          // why there is none
};

const Node* maker_of(const Graph& graph, ValueId id) {
  const auto found = std::ranges::find_if(graph.nodes, [&](const Node& node) {
    return std::ranges::find(node.outputs, id) != node.outputs.end();
  });
  return found == graph.nodes.end() ? nullptr : &*found;
}

// Ops that a network may have between its last layer and its scores, which work for any number of classes.
bool passes_classes_on(const Node& node) {
  return node.op == "identity" || node.op == "dropout" || node.op == "flatten" || node.op == "squeeze" ||
         node.op == "pool2d" || node.op == "reduce_mean";
}

Head find_head(const Graph& graph, std::int64_t classes) {
  Head head;
  const auto add_bias = [&](ValueId id) {
    if (id == kNoValue) return true;
    if (!graph.value(id).is_constant() || graph.value(id).constant.size() != classes) return false;
    head.biases.push_back(id);
    return true;
  };
  for (ValueId at = graph.outputs.at(0);;) {
    const Node* node = maker_of(graph, at);
    if (!node) {
      head.problem = "it has no last layer with weights";
      return head;
    }
    if (is_product(*node)) {
      const ValueId weights = weights_of(*node);
      const int axis = weight_channel_axis(graph, *node);
      const bool is_grouped = node->op == "conv2d" && attr<std::int64_t>(*node, "groups") != 1;
      if (axis < 0 || is_grouped || !graph.value(weights).is_constant() ||
          graph.value(weights).shape.at(static_cast<std::size_t>(axis)) != classes ||
          !add_bias(input_of(*node, "bias"))) {
        head.problem = fmt::format("the classes are not the outputs of its last layer, {}", node->op);
        return head;
      }
      head.weights = weights;
      head.axis = static_cast<std::size_t>(axis);
      return head;
    }
    if (node->op == "add" && graph.value(node->inputs.at(1)).is_constant() && add_bias(node->inputs[1])) {
      at = node->inputs[0];
    } else if (passes_classes_on(*node)) {
      at = node->inputs.at(0);
    } else {
      head.problem = fmt::format("it ends in {}, which is no linear layer or convolution", node->op);
      return head;
    }
  }
}

std::int64_t classes_of(const Graph& graph) {
  return graph.value(graph.outputs.at(0)).shape.empty() ? kUnknown
                                                        : graph.value(graph.outputs[0]).shape.back();
}

void replace(Graph& graph, ValueId id, Tensor tensor) {
  graph.value(id).shape = tensor.shape();
  graph.value(id).constant = std::move(tensor);
}

}  // namespace

void fit_head(Graph& graph, std::int64_t classes, std::uint64_t seed, const std::string& source) {
  const std::int64_t before = classes_of(graph);
  if (before == classes) return;
  if (before < 0)
    fail("{}: it does not say how many classes it has, so it can't be fitted for {}", source, classes);
  const Head head = find_head(graph, before);
  if (!head.problem.empty())
    fail("{}: it can't be fitted for {} classes, which are {} now: {}", source, classes, before,
         head.problem);
  Random random({seed});
  Shape shape = graph.value(head.weights).shape;
  shape[head.axis] = classes;
  replace(graph, head.weights, random_normal(shape, 0.01, random));
  for (ValueId id : head.biases) {
    Shape bias = graph.value(id).shape;
    *std::ranges::find(bias, before) = classes;
    replace(graph, id, filled(bias, 0));
  }
  infer_shapes(graph);
  if (classes_of(graph) != classes)
    fail("{}: it can't be fitted for {} classes: something behind its last layer is made for {}", source,
         classes, before);
}

std::int64_t num_classes_of(const Graph& graph, const StateDict& state) {
  const std::int64_t classes = classes_of(graph);
  const Head head = find_head(graph, classes);
  if (!head.problem.empty()) return classes;
  const Value& weights = graph.value(head.weights);
  const Tensor* saved = state.find(weights.name);
  return saved && saved->shape().size() == weights.shape.size() ? saved->shape()[head.axis] : classes;
}

}  // namespace octet::models
