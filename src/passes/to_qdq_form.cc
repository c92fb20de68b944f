#include <cmath>
#include <map>
#include <optional>

#include "graph/quantization.h"
#include "passes/epilogues.h"
#include "passes/passes.h"

namespace octet {

namespace {

// The weights as int8, if they are integers that fit: some tools leave fractions there
// (docs/paddle-format.md).
std::optional<Tensor> as_int8(const Tensor& weight, std::int64_t limit) {
  if (weight.dtype() != DType::kFloat32) return std::nullopt;
  Tensor aligned = weight.aligned();
  Tensor result(DType::kInt8, weight.shape());
  auto in = aligned.data<float>();
  auto out = result.mutable_data<std::int8_t>();
  for (std::size_t i = 0; i < in.size(); ++i) {
    if (!(std::abs(in[i]) <= static_cast<float>(limit)) || in[i] != std::rint(in[i])) return std::nullopt;
    out[i] = static_cast<std::int8_t>(in[i]);
  }
  return result;
}

class Rewriter {
 public:
  explicit Rewriter(Graph& graph) : graph_(graph), uses_(graph), replaced_(graph.nodes.size()) {}

  void run() {
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) match_sum(static_cast<int>(i));
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i)
      if (!replaced_[i]) match_range(static_cast<int>(i));
    std::vector<Node> nodes;
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      for (Node& node : before_[static_cast<int>(i)]) nodes.push_back(std::move(node));
      if (replaced_[i]) continue;
      Node& node = graph_.nodes[i];
      if (node.op == "fake_quant")
        split_fake_quant(node, nodes);
      else
        nodes.push_back(std::move(node));
    }
    graph_.nodes = std::move(nodes);
    hold_integers_as_int8();
  }

 private:
  Node& node(int i) { return graph_.nodes[static_cast<std::size_t>(i)]; }

  // quantize -> layer with integer weights -> dequantize of the sums. `i` is the last of them.
  void match_sum(int i) {
    Node& last = node(i);
    bool ranged = last.op == "dequantize_range";
    if (!ranged && !(last.op == "dequantize_sum" && last.inputs.size() == 3)) return;
    int layer_index = uses_.producer(last.inputs[0]);
    if (layer_index < 0 || !uses_.only_for_one(last.inputs[0]) || !is_product(node(layer_index))) return;
    Node& layer = node(layer_index);
    if (layer.inputs.size() != 2 || !graph_.value(weights_of(layer)).is_constant()) return;
    int quantize_index = uses_.producer(layer.inputs[0]);
    if (quantize_index < 0 || node(quantize_index).op != "quantize") return;
    const Node& quantize = node(quantize_index);
    if (attr<std::int64_t>(quantize, "bits") != 8 || attr<std::int64_t>(quantize, "axis") != -1) return;
    // Both ends must mean the same scale of x.
    if (graph_.value(last.inputs[ranged ? 1 : 2]).name != graph_.value(quantize.inputs[1]).name) return;

    std::int64_t weight_bits = ranged ? 8 : attr<std::int64_t>(last, "bits");
    if (weight_bits < 2 || weight_bits > 8) return;
    std::optional<ValueId> weight = int8_weight(weights_of(layer), levels_of(static_cast<int>(weight_bits)));
    std::optional<ValueId> scale = ranged ? range_scale(last) : channel_scale(last, layer);
    if (!weight || !scale) return;

    std::vector<Node>& added = before_[layer_index];
    Node x{.op = "dequantize",
           .inputs = {layer.inputs[0], quantize.inputs[1]},
           .outputs = {derived(layer.inputs[0], "dequantized")},
           .attrs = {}};
    Node w{.op = "dequantize",
           .inputs = {*weight, *scale},
           .outputs = {derived(*weight, "dequantized")},
           .attrs = {}};
    w.attrs["axis"] = ranged ? std::int64_t{-1} : weight_channel_axis(graph_, layer);
    w.attrs["bits"] = weight_bits;
    layer.inputs = {x.outputs[0], w.outputs[0]};
    layer.outputs = last.outputs;
    layer.source = -1;
    added.push_back(std::move(x));
    added.push_back(std::move(w));
    replaced_[static_cast<std::size_t>(i)] = true;
  }

  // quantize -> dequantize_range of 127 levels, with a cast in between: activations of Paddle 3's files.
  void match_range(int i) {
    Node& last = node(i);
    if (last.op != "dequantize_range" || attr<double>(last, "range") != levels_of(8)) return;
    int index = uses_.producer(last.inputs[0]), cast = -1;
    if (index >= 0 && node(index).op == "cast" && attr<std::string>(node(index), "dtype") == "float32") {
      cast = index;
      index = uses_.producer(node(cast).inputs[0]);
    }
    if (index < 0 || node(index).op != "quantize") return;
    const Node& quantize = node(index);
    if (attr<std::int64_t>(quantize, "bits") != 8 || attr<std::int64_t>(quantize, "axis") != -1 ||
        attr<std::string>(quantize, "unit") != "abs_max")
      return;
    if (cast >= 0 && uses_.only_for_one(node(cast).outputs[0]))
      replaced_[static_cast<std::size_t>(cast)] = true;
    last = Node{.op = "dequantize",
                .inputs = {quantize.outputs[0], last.inputs[1]},
                .outputs = last.outputs,
                .attrs = {}};
  }

  std::optional<ValueId> int8_weight(ValueId id, std::int64_t limit) {
    if (auto it = weights_.find(id); it != weights_.end()) return it->second;
    std::optional<ValueId> made;
    if (std::optional<Tensor> tensor = as_int8(graph_.value(id).constant, limit))
      made = graph_.add_constant(graph_.value(id).name + ".int8", *tensor);
    return weights_[id] = made;
  }

  // dequantize_sum keeps one scale per channel of the layer's output.
  std::optional<ValueId> channel_scale(const Node& last, const Node& layer) {
    const Tensor& scale = graph_.value(input_of(last, "weight_scale")).constant;
    const Shape& weight = graph_.value(weights_of(layer)).shape;
    int axis = weight_channel_axis(graph_, layer);
    if (axis < 0 || scale.empty() || scale.size() != weight[static_cast<std::size_t>(axis)] ||
        scale.size() != output_channels(graph_, layer))
      return std::nullopt;
    return last.inputs[1];
  }

  // dequantize_range has the weight's one scale in its attribute: range = qmax of both / abs_max.
  std::optional<ValueId> range_scale(const Node& last) {
    double range = attr<double>(last, "range");
    if (!(range > 0) || std::isinf(range)) return std::nullopt;
    Tensor scale = Tensor::of<float>({1}, {static_cast<float>(double{levels_of(8)} * levels_of(8) / range)});
    return graph_.add_constant(graph_.value(last.outputs[0]).name + ".weight_scale", scale);
  }

  void split_fake_quant(const Node& fake, std::vector<Node>& nodes) {
    ValueId integers = derived(fake.outputs[0], "quantized");
    Node quantize{
        .op = "quantize", .inputs = {fake.inputs[0], fake.inputs[1]}, .outputs = {integers}, .attrs = {}};
    for (const char* name : {"axis", "bits"}) quantize.attrs[name] = attr<std::int64_t>(fake, name);
    Node dequantize = quantize;
    quantize.attrs["rounding"] = attr<std::string>(fake, "rounding");
    quantize.attrs["dtype"] = "float32";  // int8 where it fits: hold_integers_as_int8
    dequantize.op = "dequantize";
    dequantize.inputs[0] = integers;
    dequantize.outputs = fake.outputs;
    nodes.push_back(std::move(quantize));
    nodes.push_back(std::move(dequantize));
  }

  // Integers that only dequantize nodes read need not be floats.
  void hold_integers_as_int8() {
    Uses uses(graph_);
    for (Node& node : graph_.nodes) {
      if (node.op != "quantize" || attr<std::string>(node, "dtype") != "float32") continue;
      if (attr<std::int64_t>(node, "bits") > 8 || uses.is_output(node.outputs[0])) continue;
      bool only_dequantized = true;
      for (int consumer : uses.consumers(node.outputs[0]))
        only_dequantized =
            only_dequantized && graph_.nodes[static_cast<std::size_t>(consumer)].op == "dequantize";
      if (!only_dequantized) continue;
      node.attrs["dtype"] = "int8";
      node.source = -1;
      graph_.value(node.outputs[0]).dtype = DType::kInt8;
    }
  }

  ValueId derived(ValueId id, const char* suffix) {
    const Value& value = graph_.value(id);
    return graph_.add_value(fmt::format("{}.{}#{}", value.name, suffix, graph_.values.size()),
                            DType::kFloat32, Shape(value.shape));
  }

  Graph& graph_;
  Uses uses_;
  std::vector<bool> replaced_;
  std::map<int, std::vector<Node>> before_;  // nodes to insert in front of a node
  std::map<ValueId, std::optional<ValueId>> weights_;
};

}  // namespace

void to_qdq_form(Graph& graph) {
  Rewriter(graph).run();
}

}  // namespace octet
