#include <algorithm>
#include <map>
#include <optional>

#include "graph/op_table.h"
#include "graph/quantization.h"
#include "passes/passes.h"
#include "passes/uses.h"

namespace octet {

namespace {

// What a dequantize node reads: integers that the integer kernels can compute with.
struct Dequantized {
  ValueId integers = kNoValue;
  Quantization scale;
  ValueId zero = kNoValue;  // of the left side of a product: its zero point, unless that is 0
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
    if (node.op != "dequantize") return std::nullopt;
    std::optional<Quantization> scale = quantization_of(graph_, node);
    if (!scale || !has_integer_kernels(*scale)) return std::nullopt;
    return Dequantized{node.inputs[0], std::move(*scale)};
  }

  // The left side of a product, whose zero point the run may decide.
  std::optional<Dequantized> left_side(ValueId id) {
    if (std::optional<Dequantized> x = dequantized(id)) {
      if (x->scale.is_per_tensor() && x->scale.zero_point() != 0)
        x->zero = zero_of(static_cast<std::int8_t>(x->scale.zero_point()));
      return x;
    }
    const int producer = uses_.producer(id);
    if (producer < 0) return std::nullopt;
    const Node& node = graph_.nodes[static_cast<std::size_t>(producer)];
    const ValueId zero = input_of(node, "zero_point");
    if (node.op != "dequantize" || zero == kNoValue || graph_.value(zero).dtype != DType::kInt8 ||
        graph_.value(node.inputs[0]).dtype != DType::kInt8)
      return std::nullopt;
    Node without = node;
    set_input(without, "zero_point", kNoValue);
    std::optional<Quantization> scale = quantization_of(graph_, without);
    if (!scale || scale->unit != ScaleUnit::kStep || !scale->is_per_tensor()) return std::nullopt;
    return Dequantized{node.inputs[0], std::move(*scale), zero};
  }

  void lower_product(Node& layer, const OpSpec& spec) {
    if (!has_integer_form(layer)) return;
    std::optional<Dequantized> x = left_side(layer.inputs[0]), w = dequantized(weights_of(layer));
    if (!x || !w || !x->scale.is_per_tensor()) return;
    if (!graph_.value(w->integers).is_constant()) return;
    const std::optional<ValueId> weights = symmetric(*w);
    if (!weights) return;
    const Value& weight = graph_.value(*weights);
    int axis = spec.channel_axis(layer, weight.shape);
    if (axis < 0 || (spec.kind == OpKind::kMatmul && weight.shape.size() != 2)) return;
    std::int64_t in_weight = weight.shape[static_cast<std::size_t>(axis)];
    std::int64_t channels = output_channels(layer, weight.shape);
    if (!w->scale.is_per_tensor()) {
      if (w->scale.axis != axis || static_cast<std::int64_t>(w->scale.steps.size()) != in_weight) return;
      if (channels != in_weight) return;  // groups with the same scales
    }
    const std::int64_t products = element_count(weight.shape) / std::max<std::int64_t>(in_weight, 1);
    if (products > max_products(weight.dtype == DType::kInt16, x->zero != kNoValue)) return;
    ValueId bias = input_of(layer, "bias");
    layer = {.op = std::string(spec.integer_op),
             .inputs = {x->integers, *weights, multiplier(*x, *w, channels, layer), bias},
             .outputs = layer.outputs,
             .attrs = shared_attrs(layer, spec)};
    if (x->zero != kNoValue) set_input(layer, "x_zero", x->zero);
  }

  ValueId zero_of(std::int8_t zero) {
    auto [it, is_new] = zeros_.emplace(zero, kNoValue);
    if (is_new)
      it->second = graph_.add_constant(fmt::format("zero#{}.{}", zero, graph_.values.size()),
                                       Tensor::of<std::int8_t>({1}, {zero}));
    return it->second;
  }

  // Weights with zero points less these; nothing where one is too large then.
  std::optional<ValueId> symmetric(const Dequantized& w) {
    const Quantization& how = w.scale;
    if (std::ranges::all_of(how.zero_points, [](std::int32_t zero) { return zero == 0; })) return w.integers;
    if (auto it = symmetric_.find(w.integers); it != symmetric_.end() && it->second.first == how.zero_points)
      return it->second.second;
    std::optional<Tensor> less = less_zero_points(graph_.value(w.integers).constant.aligned(), how);
    if (!less) return std::nullopt;
    const ValueId made = graph_.add_constant(
        fmt::format("{}.symmetric#{}", graph_.value(w.integers).name, graph_.values.size()),
        std::move(*less));
    symmetric_[w.integers] = {how.zero_points, made};
    return made;
  }

  // add and mul of two dequantized tensors.
  void lower_elementwise(Node& node, const OpSpec& spec) {
    if (node.inputs.size() != 2) return;
    std::optional<Dequantized> x = dequantized(node.inputs[0]), y = dequantized(node.inputs[1]);
    if (!x || !y || !x->scale.is_per_tensor() || !y->scale.is_per_tensor()) return;
    node.op = spec.integer_op;
    node.inputs = {x->integers, y->integers, step(*x, node, ".x_step"), step(*y, node, ".y_step")};
    if (x->scale.zero_point() != 0) node.attrs["x_zero"] = std::int64_t{x->scale.zero_point()};
    if (y->scale.zero_point() != 0) node.attrs["y_zero"] = std::int64_t{y->scale.zero_point()};
    node.source = -1;
  }

  // What one integer is worth.
  ValueId step(const Dequantized& x, const Node& node, const char* suffix) {
    return graph_.add_constant(graph_.value(node.outputs[0]).name + suffix,
                               Tensor::of<float>({1}, {static_cast<float>(x.scale.step())}));
  }

  // An op that keeps the scale, between dequantize nodes and quantize nodes of one and the same scale: it
  // works on the integers themselves, and the quantize nodes only pass them on.
  void lower_between(Node& node, const OpSpec& spec) {
    // An average of integers often lies halfway between two, where the last bit of its float decides: what
    // octet's own files (abs_max) define as an average of integers, ONNX defines as one of floats.
    const bool averages =
        !keeps_values(node) && !(has_attr(spec, "mode") && attr<std::string>(node, "mode") == "nearest");
    auto first = static_cast<std::size_t>(slot_of(spec, "x"));
    std::size_t last = is_variadic(spec.inputs[first]) ? node.inputs.size() : first + 1;
    std::vector<ValueId> integers;
    std::optional<Quantization> scale;
    for (std::size_t i = first; i < last; ++i) {
      std::optional<Dequantized> x = dequantized(node.inputs[i]);
      if (!x || !x->scale.is_per_tensor() || (scale && *scale != x->scale)) return;
      if (averages && x->scale.unit == ScaleUnit::kStep) return;
      integers.push_back(x->integers);
      scale = x->scale;
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

  // Integers stay as they are on their way through floats, however halves are rounded.
  bool quantizes_as(const Node& node, const Quantization& scale) const {
    if (node.op != "quantize") return false;
    std::optional<Quantization> found = quantization_of(graph_, node);
    if (found) found->rounding = scale.rounding;
    return found == scale;
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

  // What one unit of the integer sum is worth, per channel.
  ValueId multiplier(const Dequantized& x, const Dequantized& w, std::int64_t channels, const Node& layer) {
    Tensor tensor(DType::kFloat32, {channels});
    auto out = tensor.mutable_data<float>();
    for (std::size_t c = 0; c < out.size(); ++c) out[c] = product_of_steps(x.scale, w.scale, c);
    return graph_.add_constant(graph_.value(layer.outputs[0]).name + ".multiplier", tensor);
  }

  Graph& graph_;
  Uses uses_;
  std::map<std::int8_t, ValueId> zeros_;
  std::map<ValueId, std::pair<std::vector<std::int32_t>, ValueId>> symmetric_;  // by the weights of the file
};

}  // namespace

void lower_to_integer(Graph& graph) {
  Lowering(graph).run();
}

}  // namespace octet
