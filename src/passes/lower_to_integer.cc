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
  explicit Lowering(Graph& graph) : graph_(graph), uses_(graph), dropped_(graph.nodes.size()) {}

  void run() {
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      const std::string& op = graph_.nodes[i].op;
      if (op == "conv2d" || op == "conv2d_transpose" || op == "matmul" || op == "matmul_flat")
        lower(graph_.nodes[i]);
    }
    std::size_t kept = 0;
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i)
      if (!dropped_[i]) {
        if (kept != i) graph_.nodes[kept] = std::move(graph_.nodes[i]);
        ++kept;
      }
    graph_.nodes.resize(kept);
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
    if (bias == kNoValue) take_bias(layer, channels);
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

  // The layer's only reader adds a constant per channel: the epilogue does that.
  void take_bias(Node& layer, std::int64_t channels) {
    ValueId sum = layer.outputs[0];
    if (!uses_.only_for_one(sum)) return;
    auto index = static_cast<std::size_t>(uses_.consumers(sum)[0]);
    Node& add = graph_.nodes[index];
    if (add.op != "add" || add.inputs[0] != sum || add.inputs[1] == sum) return;
    const Value& bias = graph_.value(add.inputs[1]);
    if (!bias.is_constant() || bias.dtype != DType::kFloat32 || bias.constant.size() != channels) return;
    if (!lies_along_channels(bias.shape, attr<std::int64_t>(add, "axis"), layer)) return;
    layer.inputs[3] = graph_.add_constant(bias.name + ".flat", bias.constant.aligned().reshaped({channels}));
    layer.outputs[0] = add.outputs[0];
    dropped_[index] = true;
  }

  // Images have their channels in dimension 1, products in the last one.
  bool lies_along_channels(const Shape& bias, std::int64_t axis, const Node& layer) const {
    std::int64_t count = element_count(bias);
    if (layer.op == "qmatmul") {
      if (bias.empty() || bias.back() != count) return false;
      auto rank = static_cast<std::int64_t>(graph_.value(layer.outputs[0]).shape.size());
      return axis == -1 || (rank > 0 && axis == rank - static_cast<std::int64_t>(bias.size()));
    }
    if (axis == 1) return !bias.empty() && bias[0] == count;
    return axis == -1 && bias.size() == 4 && bias[1] == count;  // a 1-D one would lie along the width
  }

  Graph& graph_;
  Uses uses_;
  std::vector<bool> dropped_;
};

}  // namespace

void lower_to_integer(Graph& graph) {
  Lowering(graph).run();
}

}  // namespace octet
