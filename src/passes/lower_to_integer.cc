#include <algorithm>
#include <optional>

#include "passes/passes.h"
#include "passes/uses.h"

namespace octet {

namespace {

// A dequantize node whose input is int8.
struct Dequantized {
  ValueId integers = kNoValue;
  Tensor scale;
  std::int64_t axis = -1;
  double levels = 127;
};

class Lowering {
 public:
  explicit Lowering(Graph& graph) : graph_(graph), uses_(graph) {}

  void run() {
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      const std::string& op = graph_.nodes[i].op;
      if (op == "conv2d" || op == "conv2d_transpose" || op == "matmul" || op == "matmul_flat")
        lower(graph_.nodes[i]);
      else if (op == "add" || op == "mul")
        lower_elementwise(graph_.nodes[i]);
      else if (op == "pool2d" || op == "resize" || op == "concat")
        lower_between(graph_.nodes[i]);
    }
  }

 private:
  std::optional<Dequantized> dequantized(ValueId id) const {
    int producer = uses_.producer(id);
    if (producer < 0) return std::nullopt;
    const Node& node = graph_.nodes[static_cast<std::size_t>(producer)];
    if (node.op != "dequantize" || graph_.value(node.inputs[0]).dtype != DType::kInt8) return std::nullopt;
    if (attr<std::string>(node, "unit") != "abs_max") return std::nullopt;
    const Tensor& scale = graph_.value(node.inputs[1]).constant;
    std::int64_t bits = attr<std::int64_t>(node, "bits");
    if (scale.empty() || scale.dtype() != DType::kFloat32 || bits < 2 || bits > 8) return std::nullopt;
    return Dequantized{node.inputs[0], scale.aligned(), attr<std::int64_t>(node, "axis"),
                       static_cast<double>((1 << (bits - 1)) - 1)};
  }

  void lower(Node& layer) {
    if (layer.inputs.size() < 2) return;
    std::optional<Dequantized> x = dequantized(layer.inputs[0]), w = dequantized(layer.inputs[1]);
    if (!x || !w || x->scale.size() != 1) return;
    const Value& weight = graph_.value(w->integers);
    if (!weight.is_constant()) return;
    std::optional<std::int64_t> axis = channel_axis(layer, weight.shape);
    if (!axis) return;
    std::int64_t channels = weight.shape[static_cast<std::size_t>(*axis)];
    bool per_channel = w->scale.size() == channels && (w->axis == *axis || w->scale.size() == 1);
    if (!per_channel && w->scale.size() != 1) return;
    if (layer.op == "conv2d_transpose" && attr<std::int64_t>(layer, "groups") != 1) {
      if (per_channel && channels > 1) return;
      channels *= attr<std::int64_t>(layer, "groups");
    }
    Node lowered = layer;
    lowered.op = layer.op == "conv2d"             ? "qconv2d"
                 : layer.op == "conv2d_transpose" ? "qconv2d_transpose"
                                                  : "qmatmul";
    if (lowered.op == "qmatmul") {
      lowered.attrs = {};
      if (layer.op == "matmul")
        lowered.attrs["transpose_y"] = attr<bool>(layer, "transpose_y");
      else
        lowered.attrs["x_num_col_dims"] = attr<std::int64_t>(layer, "x_num_col_dims");
    }
    ValueId bias = layer.inputs.size() > 2 ? layer.inputs[2] : kNoValue;
    lowered.inputs = {x->integers, w->integers, multiplier(*x, *w, channels, layer), bias};
    lowered.source = -1;
    layer = std::move(lowered);
  }

  // add and mul of two dequantized tensors.
  void lower_elementwise(Node& node) {
    if (node.inputs.size() != 2) return;
    std::optional<Dequantized> x = dequantized(node.inputs[0]), y = dequantized(node.inputs[1]);
    if (!x || !y || x->scale.size() != 1 || y->scale.size() != 1) return;
    node.op = "q" + node.op;
    node.inputs = {x->integers, y->integers, step(*x, node, ".x_step"), step(*y, node, ".y_step")};
    node.source = -1;
  }

  // What one integer is worth.
  ValueId step(const Dequantized& x, const Node& node, const char* suffix) {
    double value = static_cast<double>(x.scale.data<float>()[0]) / x.levels;
    return graph_.add_constant(graph_.value(node.outputs[0]).name + suffix,
                               Tensor::of<float>({1}, {static_cast<float>(value)}));
  }

  // An op that keeps the scale, between dequantize nodes and quantize nodes of one and the same scale: it
  // works on the integers themselves, and the quantize nodes only pass them on.
  void lower_between(Node& node) {
    std::size_t first = node.op == "concat" ? 1 : 0, last = node.op == "concat" ? node.inputs.size() : 1;
    std::vector<ValueId> integers;
    std::optional<Dequantized> scale;
    for (std::size_t i = first; i < last; ++i) {
      std::optional<Dequantized> x = dequantized(node.inputs[i]);
      if (!x || x->scale.size() != 1) return;
      if (scale && !same_scale(*scale, *x)) return;
      integers.push_back(x->integers);
      scale = x;
    }
    ValueId made = node.outputs[0];
    if (!scale || uses_.is_output(made) || uses_.consumers(made).empty()) return;
    for (int reader : uses_.consumers(made))
      if (!quantizes_as(graph_.nodes[static_cast<std::size_t>(reader)], *scale)) return;
    std::copy(integers.begin(), integers.end(), node.inputs.begin() + static_cast<std::ptrdiff_t>(first));
    if (node.op != "concat") node.op = "q" + node.op;
    node.source = -1;
    graph_.value(made).dtype = DType::kInt8;
    for (int reader : uses_.consumers(made)) {
      Node& quantize = graph_.nodes[static_cast<std::size_t>(reader)];
      quantize = {.op = "identity", .inputs = {made}, .outputs = quantize.outputs, .attrs = {}};
    }
  }

  static bool same_scale(const Dequantized& a, const Dequantized& b) {
    return a.levels == b.levels && a.scale.data<float>()[0] == b.scale.data<float>()[0];
  }

  bool quantizes_as(const Node& node, const Dequantized& x) const {
    if (node.op != "quantize" || attr<std::string>(node, "dtype") != "int8" ||
        attr<std::string>(node, "unit") != "abs_max")
      return false;
    const Tensor& scale = graph_.value(node.inputs[1]).constant;
    return scale.size() == 1 && !scale.empty() && scale.dtype() == DType::kFloat32 &&
           scale.aligned().data<float>()[0] == x.scale.data<float>()[0] &&
           static_cast<double>((1 << (attr<std::int64_t>(node, "bits") - 1)) - 1) == x.levels;
  }

  // Where the output channels lie in the weight; nothing when the integer op can't do this layer.
  static std::optional<std::int64_t> channel_axis(const Node& layer, const Shape& weight) {
    if (layer.op == "conv2d") return weight.size() == 4 ? std::optional<std::int64_t>(0) : std::nullopt;
    if (layer.op == "conv2d_transpose")
      return weight.size() == 4 ? std::optional<std::int64_t>(1) : std::nullopt;
    if (weight.size() != 2) return std::nullopt;
    if (layer.op == "matmul_flat")
      return attr<std::int64_t>(layer, "y_num_col_dims") == 1 ? std::optional<std::int64_t>(1) : std::nullopt;
    if (attr<bool>(layer, "transpose_x") || attr<double>(layer, "alpha") != 1) return std::nullopt;
    return attr<bool>(layer, "transpose_y") ? 0 : 1;
  }

  // What one unit of the integer sum is worth, a channel: the product of the two steps, rounded once.
  ValueId multiplier(const Dequantized& x, const Dequantized& w, std::int64_t channels, const Node& layer) {
    Tensor tensor(DType::kFloat32, {channels});
    auto out = tensor.mutable_data<float>();
    auto scales = w.scale.data<float>();
    double x_abs_max = static_cast<double>(x.scale.data<float>()[0]);
    for (std::size_t c = 0; c < out.size(); ++c)
      out[c] = static_cast<float>(x_abs_max * static_cast<double>(scales[scales.size() == 1 ? 0 : c]) /
                                  (x.levels * w.levels));
    return graph_.add_constant(graph_.value(layer.outputs[0]).name + ".multiplier", tensor);
  }

  Graph& graph_;
  Uses uses_;
};

}  // namespace

void lower_to_integer(Graph& graph) {
  Lowering(graph).run();
}

}  // namespace octet
