#include <algorithm>
#include <cmath>
#include <limits>

#include "graph/activation.h"
#include "graph/quantization.h"
#include "passes/epilogues.h"
#include "passes/passes.h"

namespace octet {

namespace {

constexpr double kNoBound = -std::numeric_limits<double>::infinity();

// Whether a window of a pool may lie in the padding as a whole: the largest of nothing is the lowest number.
bool may_have_empty_windows(const Node& node) {
  if ((node.op != "pool2d" && node.op != "qpool2d") || attr<std::string>(node, "auto_pad") != "explicit")
    return false;
  const auto kernel = attr<std::vector<std::int64_t>>(node, "kernel"),
             strides = attr<std::vector<std::int64_t>>(node, "strides"),
             paddings = attr<std::vector<std::int64_t>>(node, "paddings");
  if (attr<bool>(node, "global") || attr<bool>(node, "adaptive")) return false;
  for (std::size_t axis = 0; axis < 2; ++axis) {
    const std::int64_t beyond = attr<bool>(node, "ceil_mode") ? strides[axis] - 1 : 0;
    if (paddings[2 * axis] >= kernel[axis] || paddings[2 * axis + 1] + beyond >= kernel[axis]) return true;
  }
  return false;
}

class Ranges {
 public:
  explicit Ranges(Graph& graph) : graph_(graph), least_(graph.values.size(), kNoBound) {}

  void run() {
    for (Node& node : graph_.nodes) {
      if (is_product(node) && spec_of(node).is_integer) {
        double low = least(node.inputs[0]);
        if (const ValueId zero = input_of(node, "x_zero"); zero != kNoValue)  // what the padding holds
          low = graph_.value(zero).is_constant()
                    ? std::min<double>(low, graph_.value(zero).constant.data<std::int8_t>()[0])
                    : -128;
        if (low > -128) node.attrs["x_min"] = static_cast<std::int64_t>(low);
      }
      follow(node);
    }
  }

 private:
  double& least(ValueId id) { return least_[static_cast<std::size_t>(id)]; }

  // The least real value (of float tensors) or integer (of int8 ones) of what a node makes.
  void follow(const Node& node) {
    double result = of_sum(node);
    if (has_epilogue(node)) {
      double real = result;
      if (const ActivationFunction* function = find_activation(attr<std::string>(node, "activation")))
        real =
            function->least(activation_args(*function, attr<std::vector<double>>(node, "activation_args")));
      if (node.outputs.size() > 1) least(node.outputs[1]) = real;
      least(node.outputs[0]) = input_of(node, "out_scale") == kNoValue ? real : quantized(node, real);
      return;
    }
    for (ValueId id : node.outputs)
      if (id != kNoValue) least(id) = result;
  }

  // Before the epilogue, if there is one.
  double of_sum(const Node& node) {
    if (const ActivationFunction* function = find_activation(node.op))
      return function->least(activation_args(*function, node));
    if (node.op == "quantize")
      return graph_.value(node.outputs[0]).dtype == DType::kInt8 ? quantized(node, least(node.inputs[0]))
                                                                 : kNoBound;
    if (node.op == "dequantize") return dequantized(node);
    if (may_have_empty_windows(node)) return kNoBound;
    switch (spec_of(node).range) {
      case ValueRange::kOfInputs:
        return least_input(node);
      case ValueRange::kOfInputsOrZero:
        return std::min(least_input(node), 0.0);
      case ValueRange::kKeepsSign:
        return least_input(node) >= 0 ? 0 : kNoBound;
      case ValueRange::kNonNegative:
        return 0;
      case ValueRange::kAny:
        return kNoBound;
    }
    return kNoBound;
  }

  // Of the operands: what else a node reads (axes, sizes) is no part of its result.
  double least_input(const Node& node) {
    double low = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      std::string_view slot = slot_at(node, i);
      if ((slot == "x" || slot == "y") && node.inputs[i] != kNoValue)
        low = std::min(low, least(node.inputs[i]));
    }
    return low;
  }

  // What a quantizer makes of `real`, rounded down.
  double quantized(const Node& node, double real) {
    const std::optional<Quantization> how = quantization_of(graph_, node);
    if (real == kNoBound || !how || !has_integer_kernels(*how) || !how->is_per_tensor()) return -128;
    if (real >= 0) return how->zero_point();
    if (!(how->abs_max() > 1e-6f)) return -128;
    return std::max(-128.0, std::floor(real / how->step() * 1.0001 - 0.5) + how->zero_point());
  }

  double dequantized(const Node& node) {
    const std::optional<Quantization> how = quantization_of(graph_, node);
    const double low = least(node.inputs[0]);
    if (low == kNoBound || !how || !how->is_per_tensor() || !(how->step() > 0)) return kNoBound;
    return (low - how->zero_point()) * how->step();
  }

  Graph& graph_;
  std::vector<double> least_;
};

}  // namespace

void mark_ranges(Graph& graph) {
  Ranges(graph).run();
}

}  // namespace octet
