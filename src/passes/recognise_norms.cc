#include <algorithm>
#include <numeric>

#include "passes/match.h"
#include "passes/passes.h"

namespace octet {

namespace {

using Ints = std::vector<std::int64_t>;

// A reduction that keeps its dimensions, and along which ones; from the front, in order.
struct Reduced {
  ValueId x = kNoValue;
  Ints axes;
};

std::optional<Reduced> reduced(const Match& match, ValueId id, std::string_view op) {
  const Node* node = match.maker(id, op);
  if (!node || node->inputs.size() != 1 || !attr<bool>(*node, "keepdims") || attr<bool>(*node, "all"))
    return std::nullopt;
  const auto rank = static_cast<std::int64_t>(match.graph().value(node->inputs[0]).shape.size());
  Reduced result{node->inputs[0], attr<Ints>(*node, "axes")};
  for (std::int64_t& axis : result.axes) axis += axis < 0 ? rank : 0;
  std::ranges::sort(result.axes);
  if (result.axes.empty() || result.axes.front() < 0 || result.axes.back() >= rank) return std::nullopt;
  return result;
}

// x times itself.
ValueId square_of(const Match& match, ValueId id) {
  if (const Node* node = match.maker(id, "pow"))
    return match.number(node->inputs[1]) == 2.0 ? node->inputs[0] : kNoValue;
  const Node* node = match.maker(id, "mul");
  return node && node->inputs[0] == node->inputs[1] ? node->inputs[0] : kNoValue;
}

// x minus its mean.
std::optional<Reduced> centred(const Match& match, ValueId id) {
  const Node* node = match.maker(id, "sub");
  const std::optional<Reduced> mean =
      node ? reduced(match, node->inputs[1], "reduce_mean") : std::optional<Reduced>();
  return mean && mean->x == node->inputs[0] ? mean : std::nullopt;
}

struct Normalised {
  ValueId x = kNoValue;
  Ints axes;
  double epsilon = 0;
};

// Which rows `deviation` is the standard deviation of.
std::optional<Normalised> deviation_of(const Match& match, ValueId deviation) {
  ValueId variance = kNoValue;
  if (const Node* root = match.maker(deviation, "sqrt")) variance = root->inputs[0];
  if (const Node* root = match.maker(deviation, "pow"))
    if (match.number(root->inputs[1]) == 0.5) variance = root->inputs[0];
  if (variance == kNoValue) return std::nullopt;
  const Affine sum = match.affine(variance);
  const std::optional<Reduced> mean = reduced(match, sum.x, "reduce_mean");
  if (!mean || sum.factor != 1 || !(sum.shift >= 0)) return std::nullopt;
  const ValueId square = square_of(match, mean->x);
  const std::optional<Reduced> difference =
      square == kNoValue ? std::optional<Reduced>() : centred(match, square);
  if (!difference || difference->axes != mean->axes) return std::nullopt;
  return Normalised{difference->x, mean->axes, sum.shift};
}

// (x - mean) / sqrt(variance + epsilon), also as a product with 1 / sqrt.
std::optional<Normalised> normalised(const Match& match, ValueId id) {
  auto fits = [&](ValueId above, ValueId deviation) -> std::optional<Normalised> {
    const std::optional<Normalised> rows = deviation_of(match, deviation);
    const std::optional<Reduced> difference = rows ? centred(match, above) : std::optional<Reduced>();
    if (!difference || difference->x != rows->x || difference->axes != rows->axes) return std::nullopt;
    return rows;
  };
  if (const Node* node = match.maker(id, "div")) return fits(node->inputs[0], node->inputs[1]);
  const Node* node = match.maker(id, "mul");
  if (!node) return std::nullopt;
  for (std::size_t side : {0, 1}) {
    const Node* inverse = match.maker(node->inputs[side], "div");
    if (!inverse || match.number(inverse->inputs[0]) != 1.0) continue;
    if (auto found = fits(node->inputs[1 - side], inverse->inputs[1])) return found;
  }
  return std::nullopt;
}

// A constant of the normalised dimensions, and only of them: ones may stand in front.
bool lies_along(const Graph& graph, ValueId id, ValueId x, const Ints& axes) {
  const Value& value = graph.value(id);
  if (!value.is_constant() || value.dtype != DType::kFloat32) return false;
  const Shape& rows = graph.value(x).shape;
  Shape shape = value.shape;
  while (shape.size() > axes.size() && shape.front() == 1) shape.erase(shape.begin());
  return shape == Shape(rows.begin() + axes.front(), rows.end()) && value.shape.size() <= rows.size();
}

ValueId flat(Graph& graph, ValueId id) {
  const Value& value = graph.value(id);
  if (value.shape.size() == 1) return id;
  Tensor tensor = value.constant.aligned().reshaped({value.constant.size()});
  return graph.add_constant(value.name + ".flat", std::move(tensor));
}

// The node that reads a value alone, if it is of this op, with what else it reads.
Node* next_of(Graph& graph, const Match& match, ValueId id, std::string_view op) {
  if (!match.uses().only_for_one(id)) return nullptr;
  Node& node = graph.nodes[static_cast<std::size_t>(match.uses().consumers(id)[0])];
  return match.maker(node.outputs[0], op) ? &node : nullptr;
}

// The last dimensions, with the scale and the bias that follow.
void recognise_layer_norm(Graph& graph, const Match& match, Node& node) {
  const std::optional<Normalised> rows = normalised(match, node.outputs[0]);
  if (!rows) return;
  const auto rank = static_cast<std::int64_t>(graph.value(rows->x).shape.size());
  for (std::size_t i = 0; i < rows->axes.size(); ++i)
    if (rows->axes[i] != rank - static_cast<std::int64_t>(rows->axes.size() - i)) return;
  std::vector<ValueId> inputs = {rows->x};
  Node* last = &node;
  for (const char* op : {"mul", "add"}) {
    Node* next = next_of(graph, match, last->outputs[0], op);
    const ValueId by = next ? Match::other(*next, last->outputs[0]) : kNoValue;
    if (by == kNoValue || !lies_along(graph, by, rows->x, rows->axes)) break;
    inputs.push_back(by);
    last = next;
  }
  for (std::size_t i = 1; i < inputs.size(); ++i) inputs[i] = flat(graph, inputs[i]);
  become(*last, "layer_norm", inputs, {{"epsilon", rows->epsilon}, {"begin_norm_axis", rows->axes.front()}});
}

// exp(x - max) / sum of that, also without the max.
void recognise_softmax(const Match& match, Node& node) {
  if (!match.maker(node.outputs[0], "div")) return;
  const std::optional<Reduced> sum = reduced(match, node.inputs[1], "reduce_sum");
  const Node* exp = match.maker(node.inputs[0], "exp");
  if (!sum || !exp || sum->x != node.inputs[0] || sum->axes.size() != 1) return;
  ValueId x = exp->inputs[0];
  if (const Node* sub = match.maker(x, "sub")) {
    const std::optional<Reduced> max = reduced(match, sub->inputs[1], "reduce_max");
    if (max && max->x == sub->inputs[0] && max->axes == sum->axes) x = sub->inputs[0];
  }
  become(node, "softmax", {x}, {{"axis", sum->axes[0]}});
}

// The mean of an image, which has kernels of its own.
void recognise_global_pool(const Match& match, Node& node) {
  const std::optional<Reduced> mean = reduced(match, node.outputs[0], "reduce_mean");
  if (!mean || mean->axes != Ints{2, 3} || match.graph().value(mean->x).shape.size() != 4) return;
  become(node, "pool2d", {mean->x}, {{"type", "avg"}, {"global", true}});
}

}  // namespace

void recognise_norms(Graph& graph) {
  const Graph before = graph;  // which the nodes are compared with while they change
  const Match match(before);
  const std::size_t count = graph.nodes.size();
  for (std::size_t i = 0; i < count; ++i) {
    Node& node = graph.nodes[i];
    if (node.outputs.size() != 1 || node.outputs[0] == kNoValue || node.op != before.nodes[i].op) continue;
    if (node.op == "div" || node.op == "mul") recognise_layer_norm(graph, match, node);
    if (node.op == "div") recognise_softmax(match, node);
    if (node.op == "reduce_mean") recognise_global_pool(match, node);
  }
  remove_dead_nodes(graph);
}

}  // namespace octet
