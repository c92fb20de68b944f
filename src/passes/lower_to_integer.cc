#include <algorithm>
#include <optional>

#include "graph/op_table.h"
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
      Node& node = graph_.nodes[i];
      const OpSpec& spec = spec_of(node);
      if (spec.integer_op.empty()) continue;
      if (is_product(node))
        lower_product(node, spec);
      else if (spec.kind == OpKind::kElementwise)
        lower_elementwise(node, spec);
      else
        lower_between(node, spec);
    }
  }

 private:
  std::optional<Dequantized> dequantized(ValueId id) const {
    int producer = uses_.producer(id);
    if (producer < 0) return std::nullopt;
    const Node& node = graph_.nodes[static_cast<std::size_t>(producer)];
    if (node.op != "dequantize" || graph_.value(node.inputs[0]).dtype != DType::kInt8) return std::nullopt;
    if (attr<std::string>(node, "unit") != "abs_max") return std::nullopt;
    const Tensor& scale = graph_.value(input_of(node, "scale")).constant;
    std::int64_t bits = attr<std::int64_t>(node, "bits");
    if (scale.empty() || scale.dtype() != DType::kFloat32 || bits < 2 || bits > 8) return std::nullopt;
    return Dequantized{node.inputs[0], scale.aligned(), attr<std::int64_t>(node, "axis"),
                       static_cast<double>((1 << (bits - 1)) - 1)};
  }

  void lower_product(Node& layer, const OpSpec& spec) {
    if (!has_integer_form(layer)) return;
    std::optional<Dequantized> x = dequantized(layer.inputs[0]), w = dequantized(weights_of(layer));
    if (!x || !w || x->scale.size() != 1) return;
    const Value& weight = graph_.value(w->integers);
    if (!weight.is_constant()) return;
    int axis = spec.channel_axis(layer, weight.shape);
    if (axis < 0 || (spec.kind == OpKind::kMatmul && weight.shape.size() != 2)) return;
    std::int64_t in_weight = weight.shape[static_cast<std::size_t>(axis)];
    std::int64_t channels = output_channels(layer, weight.shape);
    bool per_channel = w->scale.size() == in_weight && (w->axis == axis || w->scale.size() == 1);
    if (!per_channel && w->scale.size() != 1) return;
    if (channels != in_weight && per_channel && in_weight > 1) return;  // groups with the same scales
    ValueId bias = input_of(layer, "bias");
    layer = {.op = std::string(spec.integer_op),
             .inputs = {x->integers, w->integers, multiplier(*x, *w, channels, layer), bias},
             .outputs = layer.outputs,
             .attrs = shared_attrs(layer, spec)};
  }

  // add and mul of two dequantized tensors.
  void lower_elementwise(Node& node, const OpSpec& spec) {
    if (node.inputs.size() != 2) return;
    std::optional<Dequantized> x = dequantized(node.inputs[0]), y = dequantized(node.inputs[1]);
    if (!x || !y || x->scale.size() != 1 || y->scale.size() != 1) return;
    node.op = spec.integer_op;
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
  void lower_between(Node& node, const OpSpec& spec) {
    auto first = static_cast<std::size_t>(slot_of(spec, "x"));
    std::size_t last = is_variadic(spec.inputs[first]) ? node.inputs.size() : first + 1;
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
    node.op = spec.integer_op;
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
    const Tensor& scale = graph_.value(input_of(node, "scale")).constant;
    return scale.size() == 1 && !scale.empty() && scale.dtype() == DType::kFloat32 &&
           scale.aligned().data<float>()[0] == x.scale.data<float>()[0] &&
           static_cast<double>((1 << (attr<std::int64_t>(node, "bits") - 1)) - 1) == x.levels;
  }

  // Whether the integer op can do what the attributes say: qmatmul neither transposes x nor scales.
  static bool has_integer_form(const Node& layer) {
    return layer.op != "matmul" || (!attr<bool>(layer, "transpose_x") && attr<double>(layer, "alpha") == 1);
  }

  // The attributes that the integer op has, too. They are written out, since its defaults may be others.
  static Attrs shared_attrs(const Node& layer, const OpSpec& spec) {
    Attrs attrs;
    for (const AttrSpec& attr : find_op(spec.integer_op)->attrs) {
      auto ours = std::find_if(spec.attrs.begin(), spec.attrs.end(),
                               [&](const AttrSpec& other) { return other.name == attr.name; });
      auto given = layer.attrs.find(attr.name);
      if (given != layer.attrs.end())
        attrs.insert(*given);
      else if (ours != spec.attrs.end() && ours->default_value != attr.default_value)
        attrs.emplace(attr.name, ours->default_value);
    }
    return attrs;
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
