#include "quant/insert.h"

#include <algorithm>

#include "base/error.h"
#include "graph/op_table.h"
#include "graph/quantization.h"

namespace octet::quant {

namespace {

class Inserter {
 public:
  Inserter(Graph& graph, const InsertionPoints& points, const std::map<ValueId, Quantization>& activations,
           const std::map<ValueId, QuantizedWeight>& weights, bool onnx_format)
      : graph_(graph),
        points_(points),
        activations_(activations),
        weights_(weights),
        onnx_format_(onnx_format) {}

  void run() {
    std::vector<Node> nodes = std::move(graph_.nodes);
    graph_.nodes.clear();
    std::map<int, const Layer*> layers;
    for (const Layer& layer : points_.layers)
      if (layer.weights && can_quantize(layer.node, nodes[static_cast<std::size_t>(layer.node)]))
        layers[layer.node] = &layer;
    if (onnx_format_)  // the older generation has no word for it
      for (const Layer& layer : points_.only_weights) only_weights_.insert(layer.node);
    for (int i = 0; i < static_cast<int>(nodes.size()); ++i)
      for (std::size_t slot = 0; slot < nodes[static_cast<std::size_t>(i)].inputs.size(); ++slot)
        if ((!layers.contains(i) && !only_weights_.contains(i)) || slot != 1)
          read_as_float_.insert(nodes[static_cast<std::size_t>(i)].inputs[slot]);
    read_as_float_.insert(graph_.outputs.begin(), graph_.outputs.end());
    for (int i = 0; i < static_cast<int>(nodes.size()); ++i) {
      Node& node = nodes[static_cast<std::size_t>(i)];
      bool integer = layers.contains(i);
      if (integer && !onnx_format_)
        add_older_layer(node);
      else
        add_node(i, node, integer || only_weights_.contains(i));
    }
  }

 private:
  bool can_quantize(int i, const Node& node) const {
    return points_.inputs.contains({i, 0}) && activations_.contains(node.inputs[0]) &&
           weights_.contains(weights_of(node));
  }

  void add_node(int i, Node& node, bool has_integer_weights) {
    for (std::size_t slot = 0; slot < node.inputs.size(); ++slot) {
      ValueId id = node.inputs[slot];
      if (id == kNoValue || graph_.value(id).is_constant()) continue;
      if (points_.inputs.contains({i, static_cast<int>(slot)}) && activations_.contains(id))
        node.inputs[slot] = onnx_format_ ? through_integers(id) : through_fake_quant(id);
    }
    if (has_integer_weights) set_input(node, spec_of(node).weights, dequantized_weight(weights_of(node)));
    graph_.nodes.push_back(std::move(node));
  }

  std::string name(ValueId id) const { return graph_.value(id).name; }

  std::int64_t bits_of(ValueId x) const { return activations_.at(x).bits; }

  // Paddle's numbers.
  static Tensor abs_max_of(const Quantization& quantization) {
    std::vector<float> abs_max;
    for (std::size_t c = 0; c < quantization.steps.size(); ++c) abs_max.push_back(quantization.abs_max(c));
    return Tensor::of<float>({static_cast<std::int64_t>(abs_max.size())}, abs_max);
  }

  ValueId derived(ValueId id, const std::string& suffix) {
    Shape shape = graph_.value(id).shape;
    return graph_.add_value(name(id) + suffix, DType::kFloat32, std::move(shape));
  }

  ValueId scale_of(ValueId id) {
    auto [it, fresh] = scales_.emplace(id, kNoValue);
    if (fresh)
      it->second =
          graph_.add_constant(name(id) + "@scale", Tensor::of<float>({1}, {activations_.at(id).abs_max()}));
    return it->second;
  }

  ValueId zero_points(ValueId id, std::int64_t count) {
    return graph_.add_constant(
        name(id) + "@zero_point",
        Tensor::of<std::int32_t>({count}, std::vector<std::int32_t>(static_cast<std::size_t>(count))));
  }

  // x -> quantize_linear -> dequantize_linear, once for each tensor.
  ValueId through_integers(ValueId x) {
    auto [it, fresh] = floats_.emplace(x, kNoValue);
    if (!fresh) return it->second;
    ValueId integers = derived(x, ".quantized"), floats = derived(x, ".quantized.dequantized");
    const std::int64_t bits = bits_of(x);
    graph_.nodes.push_back({.op = "quantize",
                            .inputs = {x, scale_of(x), zero_points(integers, 1)},
                            .outputs = {integers},
                            .attrs = {{"bits", bits}, {"rounding", "even"}, {"dtype", "float32"}}});
    graph_.nodes.push_back({.op = "dequantize",
                            .inputs = {integers, scale_of(x), zero_points(floats, 1)},
                            .outputs = {floats},
                            .attrs = {{"bits", bits}}});
    return it->second = floats;
  }

  ValueId dequantized_weight(ValueId id) {
    auto [it, fresh] = floats_.emplace(id, kNoValue);
    if (!fresh) return it->second;
    const QuantizedWeight& weight = weights_.at(id);
    ValueId floats = derived(id, ".quantized.dequantized");
    const Quantization& how = weight.quantization;
    ValueId scale = graph_.add_constant(name(id) + "@scale", abs_max_of(how));
    ValueId integers = hold(id, weight.integers);
    graph_.nodes.push_back(
        {.op = "dequantize",
         .inputs = {integers, scale, zero_points(floats, static_cast<std::int64_t>(how.steps.size()))},
         .outputs = {floats},
         .attrs = {{"bits", std::int64_t{how.bits}}, {"axis", how.axis}}});
    return it->second = floats;
  }

  // Integers take the place of the floats, unless another node still reads those.
  ValueId hold(ValueId id, Tensor tensor) {
    if (read_as_float_.contains(id)) return graph_.add_constant(name(id) + ".int8", std::move(tensor));
    Value& value = graph_.value(id);
    value.dtype = tensor.dtype();
    value.shape = tensor.shape();
    value.constant = std::move(tensor);
    return id;
  }

  // The older generation: the layer works on integers held as floats, and its sums are brought back.
  void add_older_layer(Node& node) {
    ValueId x = node.inputs[0], weight_id = weights_of(node), made = node.outputs[0];
    ValueId bias = input_of(node, "bias");
    const QuantizedWeight& weight = weights_.at(weight_id);
    const Quantization& how = weight.quantization;
    auto [it, fresh] = integers_.emplace(x, kNoValue);
    if (fresh) {
      it->second = derived(x, ".quantized");
      graph_.nodes.push_back({.op = "quantize",
                              .inputs = {x, scale_of(x)},
                              .outputs = {it->second},
                              .attrs = {{"bits", bits_of(x)}, {"rounding", "away"}, {"dtype", "float32"}}});
    }
    auto [held, fresh_weight] = held_.emplace(weight_id, kNoValue);
    if (fresh_weight) held->second = hold(weight_id, weight.integers.cast(DType::kFloat32));
    ValueId sum = derived(made, ".sum");
    node.inputs = {it->second, held->second};
    node.outputs[0] = sum;
    node.source = -1;
    bool conv = node.op.starts_with("conv2d");
    std::int64_t columns =
        conv ? 1 : std::max<std::int64_t>(1, static_cast<std::int64_t>(graph_.value(made).shape.size()) - 1);
    graph_.nodes.push_back(std::move(node));
    ValueId back = bias == kNoValue ? made : derived(made, ".dequantized");
    Node dequantize{.op = "dequantize_sum", .inputs = {sum}, .outputs = {back}, .attrs = {}};
    if (how.axis < 0) {
      dequantize.op = "dequantize_range";
      dequantize.inputs.push_back(scale_of(x));
      dequantize.attrs["range"] =
          static_cast<double>(how.qmax()) * activations_.at(x).qmax() / static_cast<double>(how.abs_max());
    } else {
      auto [scale, first] = weight_scales_.emplace(weight_id, kNoValue);
      if (first) scale->second = graph_.add_constant(name(weight_id) + "@scale", abs_max_of(how));
      dequantize.inputs.push_back(scale->second);
      dequantize.inputs.push_back(scale_of(x));
      dequantize.attrs = {{"bits", std::int64_t{how.bits}},
                          {"x_bits", bits_of(x)},
                          {"axis", how.axis},
                          {"x_num_col_dims", columns}};
    }
    graph_.nodes.push_back(std::move(dequantize));
    if (bias != kNoValue)
      graph_.nodes.push_back({.op = "add",
                              .inputs = {back, bias},
                              .outputs = {made},
                              .attrs = {{"axis", std::int64_t{conv ? 1 : -1}}}});
  }

  ValueId through_fake_quant(ValueId x) {
    auto [it, fresh] = floats_.emplace(x, kNoValue);
    if (!fresh) return it->second;
    ValueId floats = derived(x, ".quantized.dequantized");
    graph_.nodes.push_back({.op = "fake_quant",
                            .inputs = {x, scale_of(x)},
                            .outputs = {floats},
                            .attrs = {{"bits", bits_of(x)}, {"rounding", "away"}}});
    return it->second = floats;
  }

  Graph& graph_;
  const InsertionPoints& points_;
  const std::map<ValueId, Quantization>& activations_;
  const std::map<ValueId, QuantizedWeight>& weights_;
  const bool onnx_format_;
  std::set<int> only_weights_;  // nodes
  std::set<ValueId> read_as_float_;
  std::map<ValueId, ValueId> scales_, floats_, integers_, weight_scales_, held_;
};

}  // namespace

void insert_quantization(Graph& graph, const InsertionPoints& points,
                         const std::map<ValueId, Quantization>& activations,
                         const std::map<ValueId, QuantizedWeight>& weights, bool onnx_format) {
  Inserter(graph, points, activations, weights, onnx_format).run();
}

}  // namespace octet::quant
