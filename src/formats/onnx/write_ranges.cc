#include <cmath>
#include <limits>
#include <numeric>

#include "formats/onnx/writer.h"
#include "graph/activation.h"
#include "graph/quantization.h"

// The least number that each value can be, as far as the ops that make it tell. octet's own integers are
// symmetric; in ONNX, what lies below that number need not be represented, and the step is smaller for it.
namespace octet::onnx {

namespace {

constexpr double kNoBound = -std::numeric_limits<double>::infinity();

double of_constant(const Value& value) {
  if (value.dtype != DType::kFloat32) return kNoBound;
  const Tensor tensor = value.constant.aligned();
  double least = std::numeric_limits<double>::infinity();
  for (float x : tensor.data<float>()) {
    if (!std::isfinite(x)) return kNoBound;
    least = std::min<double>(least, x);
  }
  return least;
}

class Leasts {
 public:
  explicit Leasts(const Graph& graph) : graph_(graph), least_(graph.values.size(), kNoBound) {}

  std::vector<double> run() {
    for (const Node& node : graph_.nodes)
      for (ValueId id : node.outputs)
        if (id != kNoValue) least_[static_cast<std::size_t>(id)] = of_result(node);
    return std::move(least_);
  }

 private:
  double of(ValueId id) const {
    const Value& value = graph_.value(id);
    return value.is_constant() ? of_constant(value) : least_[static_cast<std::size_t>(id)];
  }

  // Of the operands: what else a node reads (axes, sizes) is no part of its result.
  template <class Join>
  double of_operands(const Node& node, double first, const Join& join) const {
    double result = first;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const std::string_view slot = slot_name(slot_at(node, i));
      if (node.inputs[i] != kNoValue && (slot == "x" || slot == "y"))
        result = join(result, of(node.inputs[i]));
    }
    return result;
  }
  double least_operand(const Node& node) const {
    return of_operands(node, std::numeric_limits<double>::infinity(),
                       [](double a, double b) { return std::min(a, b); });
  }

  double of_result(const Node& node) const {
    if (const ActivationFunction* function = find_activation(node.op))
      if (function->least) return function->least(activation_args(*function, node));
    // Minima of x * Phi(x), its approximation with tanh, and x * tanh(softplus(x)), rounded down.
    if (node.op == "gelu") return -0.171;
    if (node.op == "mish") return -0.309;
    if (node.op == "elu") return std::min(0.0, -attr<double>(node, "alpha"));
    if (node.op == "tanh") return -1;
    if (node.op == "softmax") return 0;
    if (node.op == "quantize" || node.op == "dequantize") return of(node.inputs[0]);
    if (node.op == "clip" && node.inputs.size() == 1)
      return std::max(attr<double>(node, "min"), std::min(attr<double>(node, "max"), least_operand(node)));
    if (node.op == "add") return of_operands(node, 0, [](double a, double b) { return a + b; });
    switch (spec_of(node).range) {
      case ValueRange::kOfInputs:
        return least_operand(node);
      case ValueRange::kOfInputsOrZero:
        return std::min(least_operand(node), 0.0);
      case ValueRange::kKeepsSign:
        return least_operand(node) >= 0 ? 0 : kNoBound;
      case ValueRange::kNonNegative:
        return 0;
      case ValueRange::kAny:
        return kNoBound;
    }
    return kNoBound;
  }

  const Graph& graph_;
  std::vector<double> least_;
};

// An op that hands on integers of one scale, in octet and in ONNX Runtime.
bool hands_on(const Node& node) {
  const OpSpec* spec = find_op(node.op);
  return spec && !spec->integer_op.empty() && !is_product(node) && spec->kind != OpKind::kElementwise;
}

}  // namespace

bool can_be_shifted(const Quantization& how) {
  return how.unit == ScaleUnit::kAbsMax && how.bits == 8 && how.is_per_tensor() && how.step() > 0;
}

double gained_range(const Quantization& how, double least) {
  // Below this share nothing is gained that would be worth a zero point.
  constexpr double kLeast = -0.75;
  const double share = std::min(least, 0.0) / static_cast<double>(how.abs_max());
  return share > kLeast ? share : -1;
}

double step_ratio(const Writer& w, const Node& quantize, const Quantization& how) {
  if (w.target() != Target::kCpu || !can_be_shifted(how)) return 1;
  const double low = gained_range(how, w.least(quantize.outputs[0]));
  return low > -1 ? 127.0 / 255.0 * (1 - low) : 1;
}

std::vector<double> least_values(const Writer& w) {
  const Graph& graph = w.graph();
  std::vector<double> least = Leasts(graph).run();
  // Tensors that an op hands on have one quantization, so one range: the widest of them, if that gains
  // anything.
  std::vector<ValueId> group(graph.values.size());
  std::iota(group.begin(), group.end(), 0);
  auto root = [&](ValueId id) {
    while (group[static_cast<std::size_t>(id)] != id) id = group[static_cast<std::size_t>(id)];
    return id;
  };
  auto quantizer = [&](const Node* node) -> std::optional<Quantization> {
    if (!node || node->op != "quantize") return std::nullopt;
    std::optional<Quantization> how = quantization_of(graph, *node);
    return how && can_be_shifted(*how) ? how : std::nullopt;
  };
  for (const Node& node : graph.nodes) {
    if (!hands_on(node)) continue;
    std::vector<const Node*> members;
    for (ValueId id : node.inputs) {
      const Node* maker = id == kNoValue ? nullptr : w.maker(id);
      if (maker && maker->op == "dequantize" && w.maker(maker->inputs[0]))
        members.push_back(w.maker(maker->inputs[0]));
    }
    for (const Node* reader : w.readers(node.outputs[0])) members.push_back(reader);
    std::optional<Quantization> first;
    ValueId joined = kNoValue;
    for (const Node* member : members) {
      const std::optional<Quantization> how = quantizer(member);
      if (!how) continue;
      if (!first) first = how, joined = root(member->outputs[0]);
      if (how->steps == first->steps) group[static_cast<std::size_t>(root(member->outputs[0]))] = joined;
    }
  }
  std::map<ValueId, double> widest;
  for (const Node& node : graph.nodes)
    if (quantizer(&node)) {
      auto [it, fresh] = widest.emplace(root(node.outputs[0]), 0);
      it->second = std::min(it->second, least[static_cast<std::size_t>(node.outputs[0])]);
    }
  for (const Node& node : graph.nodes)
    if (const std::optional<Quantization> how = quantizer(&node)) {
      const double low = widest.at(root(node.outputs[0]));
      if (gained_range(*how, low) > -1) least[static_cast<std::size_t>(node.outputs[0])] = low;
    }
  return least;
}

}  // namespace octet::onnx
