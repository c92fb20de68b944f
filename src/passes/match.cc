#include "passes/match.h"

#include <cmath>

#include "passes/epilogues.h"

namespace octet {

namespace {
constexpr int kLongest = 8;  // of the chains that are looked at
}

bool is_near(double a, double b) {
  return std::abs(a - b) <= 1e-5 * std::max(std::abs(a), std::abs(b));
}

void become(Node& node, std::string op, std::vector<ValueId> inputs, Attrs attrs) {
  node.op = std::move(op);
  node.inputs = std::move(inputs);
  node.attrs = std::move(attrs);
  node.source = -1;
}

const Node* Match::node_of(ValueId id) const {
  const int i = id == kNoValue ? -1 : uses_.producer(id);
  if (i < 0 || graph_.value(id).dtype != DType::kFloat32) return nullptr;
  const Node& node = graph_.nodes[static_cast<std::size_t>(i)];
  if (node.outputs.size() != 1 || (has_epilogue(node) && !is_open(node))) return nullptr;
  return &node;
}

const Node* Match::maker(ValueId id, std::string_view op) const {
  const Node* node = node_of(id);
  return node && node->op == op ? node : nullptr;
}

std::optional<double> Match::number(ValueId id) const {
  if (id == kNoValue) return std::nullopt;
  const Value& value = graph_.value(id);
  if (!value.is_constant() || value.dtype != DType::kFloat32 || value.constant.size() != 1)
    return std::nullopt;
  return static_cast<double>(value.constant.aligned().data<float>()[0]);
}

ValueId Match::other(const Node& node, ValueId id) {
  if (node.inputs.size() != 2) return kNoValue;
  if (node.inputs[0] == id) return node.inputs[1];
  return node.inputs[1] == id ? node.inputs[0] : kNoValue;
}

// One op by a number; nothing when it is another kind of op.
std::optional<Affine> Match::step(const Node& node) const {
  if (node.op == "scale") {
    if (node.inputs.size() != 1) return std::nullopt;
    const double factor = attr<double>(node, "scale"), shift = attr<double>(node, "bias");
    return Affine{node.inputs[0], factor, attr<bool>(node, "bias_after_scale") ? shift : shift * factor};
  }
  if (node.op != "add" && node.op != "sub" && node.op != "mul" && node.op != "div") return std::nullopt;
  for (std::size_t side : {std::size_t{1}, std::size_t{0}}) {
    const ValueId x = node.inputs[1 - side];
    const std::optional<double> by = number(node.inputs[side]);
    if (!by || graph_.value(x).is_constant()) continue;
    if (graph_.value(node.inputs[side]).shape.size() > graph_.value(x).shape.size()) continue;
    if (node.op == "add") return Affine{x, 1, *by};
    if (node.op == "mul") return Affine{x, *by, 0};
    if (node.op == "sub") return side == 1 ? Affine{x, 1, -*by} : Affine{x, -1, *by};
    if (side == 1 && *by != 0) return Affine{x, 1 / *by, 0};
  }
  return std::nullopt;
}

Affine Match::affine(ValueId id) const {
  Affine all{id, 1, 0};
  for (int i = 0; i < kLongest; ++i) {
    const Node* node = node_of(all.x);
    const std::optional<Affine> next = node ? step(*node) : std::nullopt;
    if (!next) break;
    all = {next->x, all.factor * next->factor, all.factor * next->shift + all.shift};
  }
  return all;
}

Product Match::product(ValueId id) const {
  Product all;
  std::vector<ValueId> open = {id};
  for (int i = 0; !open.empty(); ++i) {
    const ValueId next = open.back();
    open.pop_back();
    const Node* node = i < kLongest ? node_of(next) : nullptr;
    const std::optional<Affine> by = node ? step(*node) : std::nullopt;
    if (by && by->shift == 0) {
      all.scale *= by->factor;
      open.push_back(by->x);
    } else if (node && node->op == "mul") {
      open.insert(open.end(), {node->inputs[1], node->inputs[0]});
    } else {
      all.terms.push_back(next);
    }
  }
  return all;
}

}  // namespace octet
