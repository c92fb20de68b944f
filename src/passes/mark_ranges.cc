#include <algorithm>
#include <cmath>
#include <limits>

#include "passes/epilogues.h"
#include "passes/passes.h"

namespace octet {

namespace {

constexpr double kNoBound = -std::numeric_limits<double>::infinity();

// The least value of each activation function, rounded down a little; kNoBound where there is none.
double least_of(const std::string& activation, const std::vector<double>& args, double before) {
  if (activation == "relu" || activation == "relu6" || activation == "hard_sigmoid" ||
      activation == "sigmoid")
    return 0;
  if (activation == "hard_swish" && (args.empty() || args == std::vector<double>{6, 6, 3})) return -0.37501;
  if (activation == "swish" && (args.empty() || args == std::vector<double>{1})) return -0.27847;
  return activation.empty() ? before : kNoBound;
}

class Ranges {
 public:
  explicit Ranges(Graph& graph) : graph_(graph), least_(graph.values.size(), kNoBound) {}

  void run() {
    for (Node& node : graph_.nodes) {
      if (node.op == "qconv2d" || node.op == "qconv2d_transpose" || node.op == "qmatmul") {
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
      double real = least_of(attr<std::string>(node, "activation"),
                             attr<std::vector<double>>(node, "activation_args"), result);
      ValueId scale = input_of(node, epilogue_slots(node).out_scale);
      if (node.outputs.size() > 1) least(node.outputs[1]) = real;
      least(node.outputs[0]) = scale == kNoValue ? real : quantized(node, scale, real);
      return;
    }
    for (ValueId id : node.outputs)
      if (id != kNoValue) least(id) = result;
  }

  // Before the epilogue, if there is one.
  double of_sum(const Node& node) {
    const std::string& op = node.op;
    if (op == "add" || op == "mul") {
      double a = least(node.inputs[0]), b = least(node.inputs[1]);
      return a >= 0 && b >= 0 ? 0 : kNoBound;
    }
    if (op == "quantize" && graph_.value(node.outputs[0]).dtype == DType::kInt8)
      return quantized(node, node.inputs[1], least(node.inputs[0]));
    if (op == "dequantize") return least(node.inputs[0]) >= 0 ? 0 : kNoBound;
    if (op == "relu" || op == "relu6" || op == "hard_sigmoid" || op == "sigmoid" || op == "softmax") return 0;
    if (op == "hard_swish" || op == "swish") return least_of(op, {}, kNoBound);
    // An average or a window at the border may hold zeros.
    if (op == "pool2d" || op == "qpool2d" || op == "resize" || op == "qresize")
      return std::min(least(node.inputs[0]), 0.0);
    if (op == "reshape" || op == "flatten" || op == "squeeze" || op == "unsqueeze" || op == "transpose" ||
        op == "slice" || op == "split" || op == "reduce_mean" || op == "reduce_max")
      return least(node.inputs[0]);
    if (op == "concat") {
      double low = std::numeric_limits<double>::infinity();
      for (std::size_t i = 1; i < node.inputs.size(); ++i) low = std::min(low, least(node.inputs[i]));
      return low;
    }
    return kNoBound;
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
