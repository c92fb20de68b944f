#include "formats/paddle_common/op_map.h"

// Both generations of Paddle's quantization ops: quantize_linear and dequantize_linear, and the older fake_*
// ops. In Paddle's files the integers between such ops are held as floats.
namespace octet::paddle {

namespace {

using Ints = std::vector<std::int64_t>;

void read_rounding(const OpDesc& op, Node& node, std::int64_t fallback) {
  std::int64_t type = int_attr(op, "round_type", fallback);
  if (type != 0 && type != 1) fail("round_type is {}, expected 0 or 1", type);
  node.attrs["rounding"] = type == 0 ? "even" : "away";
}

void read_quantize(const OpDesc& op, Node& node) {
  node.attrs["dtype"] = "float32";
  read_rounding(op, node, op.type == "quantize_linear" ? 0 : 1);
}

void read_fake(const OpDesc& op, Node& node) {
  read_rounding(op, node, 1);
}

// An observer computes nothing: it only carries a scale to other tools.
bool is_observer(const OpDesc& op) {
  return int_attr(op, "only_observer", 0) != 0;
}

bool is_test(const OpDesc& op) {
  return int_attr(op, "is_test", 0) != 0;
}

void read_dequantize_sum(const OpDesc& op, Node& node) {
  Ints bits = ints_attr(op, "quant_bits");
  if (!bits.empty()) node.attrs["bits"] = bits[0];
  if (bits.size() > 1) node.attrs["x_bits"] = bits[1];
  if (op.input("Scales").size() > 2) fail("it has {} scales, expected 1 or 2", op.input("Scales").size());
}

void write_dequantize_sum(const Graph&, const Node& node, NewOp& op) {
  set_attr(op, "quant_bits", AttrType::kInts,
           Ints{attr<std::int64_t>(node, "bits"), attr<std::int64_t>(node, "x_bits")});
}

void write_test(NewOp& op) {
  set_attr(op, "is_test", AttrType::kBoolean, std::int64_t{1});
}

// Paddle's quantization ops at inference leave the scale as it is, in the variable that they read it from.
void add_scale_output(NewOp& op) {
  for (const auto& [slot, arguments] : op.inputs)
    if (slot == "InScale") op.outputs.emplace_back("OutScale", arguments);
}

// Paddle wants a zero point and never reads it: any variable will do where the graph has none.
void add_zero_point(NewOp& op) {
  std::vector<std::string> scale;
  for (const auto& [slot, arguments] : op.inputs) {
    if (slot == "ZeroPoint") return;
    if (slot == "Scale") scale = arguments;
  }
  op.inputs.emplace_back("ZeroPoint", scale);
}

// Paddle 2 goes by bit_length, Paddle 3 by these, which are those of 8 bits where they are missing.
void write_limits(const Node& node, NewOp& op) {
  const std::int64_t levels = std::int64_t{1} << (attr<std::int64_t>(node, "bits") - 1);
  if (levels == 128) return;
  set_attr(op, "qmin", AttrType::kInt, -levels);
  set_attr(op, "qmax", AttrType::kInt, levels - 1);
}

void write_quantize(const Graph& graph, const Node& node, NewOp& op) {
  bool away = attr<std::string>(node, "rounding") == "away";
  if (attr<std::string>(node, "unit") != "abs_max")
    fail("{}: Paddle's scales are in abs_max", describe(graph, node));
  write_test(op);
  set_attr(op, "round_type", AttrType::kInt, std::int64_t{away});
  if (!away) {
    add_zero_point(op);
    write_limits(node, op);
    return set_attr(op, "only_observer", AttrType::kBoolean, std::int64_t{0});
  }
  std::string x = graph.value(node.inputs.at(0)).name, scale = graph.value(node.inputs.at(1)).name;
  bool channel_wise = attr<std::int64_t>(node, "axis") != -1;
  op.type = channel_wise ? "fake_channel_wise_quantize_abs_max" : "fake_quantize_range_abs_max";
  op.inputs = {{"X", {x}}};
  if (!channel_wise) op.inputs.emplace_back("InScale", std::vector<std::string>{scale});
  op.outputs = {{"Out", {graph.value(node.outputs.at(0)).name}}, {"OutScale", {scale}}};
}

void write_dequantize(const Graph& graph, const Node& node, NewOp& op) {
  if (attr<std::string>(node, "unit") != "abs_max")
    fail("{}: Paddle's scales are in abs_max", describe(graph, node));
  write_test(op);
  add_zero_point(op);
  write_limits(node, op);
  set_attr(op, "only_observer", AttrType::kBoolean, std::int64_t{0});
}

void write_observer(const Graph&, const Node& node, NewOp& op) {
  if (node.inputs.size() < 2) {  // it lost its scale: what is left is a copy
    op.type = "assign";
    op.outputs[0].first = "Out";
    op.attrs.clear();
    return;
  }
  write_test(op);
  add_zero_point(op);
  set_attr(op, "quant_axis", AttrType::kInt, std::int64_t{-1});
  set_attr(op, "only_observer", AttrType::kBoolean, std::int64_t{1});
}

void write_fake_quant(const Graph& graph, const Node& node, NewOp& op) {
  if (attr<std::int64_t>(node, "axis") != -1)
    fail("{}: Paddle has no such op with fixed scales per channel", describe(graph, node));
  write_test(op);
  add_scale_output(op);
  set_attr(op, "round_type", AttrType::kInt, std::int64_t{attr<std::string>(node, "rounding") == "away"});
}

void write_dynamic(const Graph&, const Node& node, NewOp& op) {
  set_attr(op, "round_type", AttrType::kInt, std::int64_t{attr<std::string>(node, "rounding") == "away"});
  if (attr<std::int64_t>(node, "axis") == -1) return;
  set_attr(op, "quant_axis", AttrType::kInt, attr<std::int64_t>(node, "axis"));
  op.type = node.op == "dynamic_quantize" ? "fake_channel_wise_quantize_abs_max"
                                          : "fake_channel_wise_quantize_dequantize_abs_max";
}

void read_channel_wise(const OpDesc& op, Node& node) {
  read_rounding(op, node, 1);
  node.attrs["axis"] = int_attr(op, "quant_axis", 0);
}

void read_fixed_channel_wise(const OpDesc& op, Node& node) {
  read_channel_wise(op, node);
  node.attrs["dtype"] = "float32";
}

}  // namespace

std::vector<OpMap> quantization_rows() {
  const AttrMap bits = integer("bit_length", "bits"), axis = integer("quant_axis", "axis");
  // clang-format off
  return {
      {"quantize_linear", "observe", {"X", "Scale", "ZeroPoint"}, {"Y"}, {bits}, {}, nullptr, write_observer, is_observer},
      {"dequantize_linear", "observe", {"X", "Scale", "ZeroPoint"}, {"Y"}, {bits}, {}, nullptr, nullptr, is_observer},
      {"moving_average_abs_max_scale", "observe", {"X"}, {"Out"}},
      {"quantize_linear", "quantize", {"X", "Scale", "ZeroPoint"}, {"Y"}, {axis, bits}, {}, read_quantize, write_quantize},
      {"fake_quantize_range_abs_max", "quantize", {"X", "InScale"}, {"Out"}, {bits}, {}, read_quantize},
      {"fake_quantize_moving_average_abs_max", "quantize", {"X", "InScale"}, {"Out"}, {bits}, {}, read_quantize},
      {"fake_channel_wise_quantize_abs_max", "quantize", {"X", ">OutScale"}, {"Out"}, {bits}, {}, read_fixed_channel_wise, nullptr, is_test},
      {"dequantize_linear", "dequantize", {"X", "Scale", "ZeroPoint"}, {"Y"}, {axis, bits}, {}, nullptr, write_dequantize},
      {"fake_quantize_dequantize_moving_average_abs_max", "fake_quant", {"X", "InScale"}, {"Out"}, {bits}, {}, read_fake, write_fake_quant},
      {"fake_quantize_abs_max", "dynamic_quantize", {"X"}, {"Out", "OutScale"}, {bits}, {}, read_fake, write_dynamic},
      {"fake_channel_wise_quantize_abs_max", "dynamic_quantize", {"X"}, {"Out", "OutScale"}, {bits}, {}, read_channel_wise},
      {"fake_quantize_dequantize_abs_max", "dynamic_fake_quant", {"X"}, {"Out", "OutScale"}, {bits}, {}, read_fake, write_dynamic},
      {"fake_channel_wise_quantize_dequantize_abs_max", "dynamic_fake_quant", {"X"}, {"Out", "OutScale"}, {bits}, {}, read_channel_wise},
      {"fake_channel_wise_dequantize_max_abs", "dequantize_sum", {"X", "Scales*"}, {"Out"},
       {axis, integer("x_num_col_dims")}, {}, read_dequantize_sum, write_dequantize_sum},
      {"fake_dequantize_max_abs", "dequantize_range", {"X", "Scale"}, {"Out"}, {real("max_range", "range")}},
  };
  // clang-format on
}

}  // namespace octet::paddle
