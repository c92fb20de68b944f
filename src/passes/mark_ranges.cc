#include <algorithm>
#include <cmath>
#include <limits>

#include "graph/activation.h"
#include "passes/epilogues.h"
#include "passes/passes.h"

namespace octet {

namespace {

constexpr double kNoBound = -std::numeric_limits<double>::infinity();

class Ranges {
 public:
  explicit Ranges(Graph& graph) : graph_(graph), least_(graph.values.size(), kNoBound) {}

  void run() {
    for (Node& node : graph_.nodes) {
      if (is_product(node) && spec_of(node).is_integer) {
        double low = least(node.inputs[0]);
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
      ValueId scale = input_of(node, "out_scale");
      if (node.outputs.size() > 1) least(node.outputs[1]) = real;
      least(node.outputs[0]) = scale == kNoValue ? real : quantized(node, scale, real);
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
      return graph_.value(node.outputs[0]).dtype == DType::kInt8
                 ? quantized(node, input_of(node, "scale"), least(node.inputs[0]))
                 : kNoBound;
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
  double quantized(const Node& node, ValueId scale_id, double real) {
    const Tensor& scale = graph_.value(scale_id).constant;
    bool by_step = node.op == "quantize" && attr<std::string>(node, "unit") != "abs_max";
    if (real == kNoBound || by_step || scale.empty() || scale.size() != 1) return -128;
    if (real >= 0) return 0;
    double levels = static_cast<double>((1 << (attr<std::int64_t>(node, "bits") - 1)) - 1);
    double abs_max = static_cast<double>(scale.aligned().data<float>()[0]);
    if (!(abs_max > 1e-6)) return -128;
    return std::max(-128.0, std::floor(real * levels / abs_max * 1.0001 - 0.5));
  }

  Graph& graph_;
  std::vector<double> least_;
};

}  // namespace

void mark_ranges(Graph& graph) {
  Ranges(graph).run();
}

}  // namespace octet
