#include "cli/model_summary.h"

#include "graph/op_table.h"

namespace octet::cli {

namespace {

bool is_quantizer(const Node& node) {
  return spec_of(node).kind == OpKind::kQuantization;
}

// Of which only the older of Paddle's two quantized formats is made (docs/ops.md, "Quantization"): all but
// quantize, which it rounds differently, and dequantize.
bool is_older_generation(const Node& node) {
  if (node.op == "quantize") return attr<std::string>(node, "rounding") == "away";
  return node.op != "dequantize";
}

// ONNX's products of integers, which are layers of a quantized model by themselves.
bool is_integer_layer(const Node& node) {
  return node.op == "conv2d_integer" || node.op == "matmul_integer";
}

// Paddle's files have the largest magnitudes as scales, ONNX's have steps.
bool is_of_onnx(const Node& node) {
  return is_integer_layer(node) ||
         (has_attr(spec_of(node), "unit") && attr<std::string>(node, "unit") == "step");
}

}  // namespace

ModelSummary summarize(const Graph& graph) {
  ModelSummary summary;
  for (const Value& value : graph.values) {
    if (!value.is_constant()) continue;
    ++summary.parameters;
    summary.parameter_elements += value.constant.size();
    summary.parameter_bytes += value.constant.size_bytes();
  }
  std::vector<char> quantized(graph.values.size());  // by value: a quantizer made it
  bool older = false, newer = false, onnx = false;
  for (const Node& node : graph.nodes) {
    ++summary.ops[node.op];
    if (!find_op(node.op)) {
      summary.unknown_ops.insert(node.op);
      const auto why = node.attrs.find("reason");
      summary.unknown_nodes.push_back(
          describe(graph, node) + (why == node.attrs.end() ? "" : ": " + std::get<std::string>(why->second)));
      continue;
    }
    if (is_integer_layer(node)) ++summary.layers, ++summary.quantized_layers;
    if (is_quantizer(node)) {
      onnx = onnx || is_of_onnx(node);
      (is_older_generation(node) ? older : newer) = true;
      if (has_attr(spec_of(node), "bits")) summary.bits.insert(attr<std::int64_t>(node, "bits"));
      for (ValueId id : node.outputs)
        if (id != kNoValue) quantized[static_cast<std::size_t>(id)] = true;
    }
    if (is_product(node)) {
      ++summary.layers;
      bool any = false;
      for (ValueId id : node.inputs) any = any || (id != kNoValue && quantized[static_cast<std::size_t>(id)]);
      summary.quantized_layers += any;
    }
  }
  if (onnx)
    summary.quantization = "ONNX's integers (QuantizeLinear, DequantizeLinear)";
  else if (older)
    summary.quantization = "Paddle's older format (fake_quantize ops)";
  else if (newer)
    summary.quantization = "Paddle's ONNX format (quantize_linear, dequantize_linear)";
  return summary;
}

}  // namespace octet::cli
