#include <array>

#include "formats/paddle_common/op_map.h"
#include "graph/op_table.h"

// Convolution, matrix products, normalisation, activation functions, pooling, resizing.
namespace octet::paddle {

namespace {

using Ints = std::vector<std::int64_t>;

void need_nchw(const OpDesc& op, std::string_view attr) {
  std::string_view layout = string_attr(op, attr, "NCHW");
  if (layout != "NCHW" && layout != "AnyLayout" && layout != "NCDHW" && !layout.empty())
    fail("{} is {}, octet reads NCHW", attr, layout);
}

// [h, w] or [top, bottom, left, right], and the algorithm.
void read_padding(const OpDesc& op, Node& node) {
  Ints pads = ints_attr(op, "paddings");
  if (pads.size() == 2) pads = {pads[0], pads[0], pads[1], pads[1]};
  if (pads.empty()) pads = {0, 0, 0, 0};
  if (pads.size() != 4) fail("paddings has {} numbers, expected 2 or 4", pads.size());
  node.attrs["paddings"] = pads;
  std::string_view algorithm = string_attr(op, "padding_algorithm", "EXPLICIT");
  if (algorithm == "SAME")
    node.attrs["auto_pad"] = "same";
  else if (algorithm == "VALID")
    node.attrs["auto_pad"] = "valid";
  else if (algorithm != "EXPLICIT")
    fail("padding_algorithm is {}, expected EXPLICIT, SAME or VALID", algorithm);
}

void write_padding(const Graph& graph, const Node& node, NewOp& op) {
  std::string pad = attr<std::string>(node, "auto_pad");
  // Paddle's SAME is ONNX's SAME_UPPER but for dilations, which it counts as 1, and transposed convolutions.
  const bool dilated = has_attr(spec_of(node), "dilations") && attr<Ints>(node, "dilations") != Ints{1, 1};
  if (pad == "same_upper" && !dilated && node.op != "conv2d_transpose") pad = "same";
  if (pad == "same_upper" || pad == "same_lower")
    fail("{}: Paddle has no auto_pad {}", describe(graph, node), pad);
  set_attr(op, "paddings", AttrType::kInts, attr<Ints>(node, "paddings"));
  set_attr(op, "padding_algorithm", AttrType::kString,
           pad == "same"    ? "SAME"
           : pad == "valid" ? "VALID"
                            : "EXPLICIT");
}

void read_conv(const OpDesc& op, Node& node) {
  need_nchw(op, "data_format");
  read_padding(op, node);
}

void write_conv(const Graph& graph, const Node& node, NewOp& op) {
  write_padding(graph, node, op);
  set_attr(op, "data_format", AttrType::kString, "NCHW");
  const Shape& weight = graph.value(node.inputs.at(1)).shape;
  std::int64_t groups = attr<std::int64_t>(node, "groups");
  if (node.op == "conv2d" && groups > 1 && weight.size() == 4 && weight[1] == 1) op.type = "depthwise_conv2d";
}

// Only the older op can scale the product.
void write_matmul(const Graph&, const Node& node, NewOp& op) {
  if (attr<double>(node, "alpha") == 1) return;
  op.type = "matmul";
  op.attrs.clear();
  set_attr(op, "transpose_X", AttrType::kBoolean, std::int64_t{attr<bool>(node, "transpose_x")});
  set_attr(op, "transpose_Y", AttrType::kBoolean, std::int64_t{attr<bool>(node, "transpose_y")});
  set_attr(op, "alpha", AttrType::kFloat, attr<double>(node, "alpha"));
}

void read_layout(const OpDesc& op, Node&) {
  need_nchw(op, "data_layout");
}

void write_batch_norm(const Graph& graph, const Node& node, NewOp& op) {
  auto name = [&](std::size_t i) { return std::vector<std::string>{graph.value(node.inputs.at(i)).name}; };
  op.outputs.emplace_back("MeanOut", name(3));
  op.outputs.emplace_back("VarianceOut", name(4));
  set_attr(op, "data_layout", AttrType::kString, "NCHW");
  set_attr(op, "is_test", AttrType::kBoolean, std::int64_t{1});
  set_attr(op, "use_global_stats", AttrType::kBoolean, std::int64_t{1});
}

void read_dropout(const OpDesc& op, Node& node) {
  // Paddle's own default is the other one than octet's.
  node.attrs["mode"] = std::string(string_attr(op, "dropout_implementation", "downgrade_in_infer"));
}

void write_dropout(const Graph&, const Node&, NewOp& op) {
  set_attr(op, "is_test", AttrType::kBoolean, std::int64_t{1});
}

void read_pool(const OpDesc& op, Node& node) {
  need_nchw(op, "data_format");
  read_padding(op, node);
}

void write_pool(const Graph& graph, const Node& node, NewOp& op) {
  write_padding(graph, node, op);
  set_attr(op, "data_format", AttrType::kString, "NCHW");
}

void read_resize(const OpDesc& op, Node& node) {
  need_nchw(op, "data_layout");
  node.attrs["mode"] = std::string(op.type.substr(0, op.type.find('_')));
  if (!op.find_attr("align_corners")) node.attrs["align_corners"] = true;  // Paddle's default
  // A scale of 0 or less means that there is none.
  if (auto it = node.attrs.find("scale"); it != node.attrs.end()) {
    auto& scale = std::get<std::vector<double>>(it->second);
    if (!scale.empty() && scale.front() <= 0) scale.clear();
  }
}

void write_resize(const Graph& graph, const Node& node, NewOp& op) {
  if (std::string where = attr<std::string>(node, "coordinates"); where != "paddle")
    fail("{}: Paddle has no coordinates {}", describe(graph, node), where);
  std::string mode = attr<std::string>(node, "mode");
  op.type = mode + "_interp_v2";
  set_attr(op, "interp_method", AttrType::kString, mode);
  // The older ops have one factor; of a list Paddle takes the second without looking whether it is there.
  auto scale = attr<std::vector<double>>(node, "scale");
  if (scale.size() == 1) set_attr(op, "scale", AttrType::kFloats, std::vector<double>{scale[0], scale[0]});
  set_attr(op, "data_layout", AttrType::kString, "NCHW");
}

void read_pad3d(const OpDesc& op, Node&) {
  if (std::string_view layout = string_attr(op, "data_format", "NCDHW"); layout != "NCDHW")
    fail("data_format is {}, octet reads NCDHW", layout);
}

void read_pad2d(const OpDesc& op, Node& node) {
  need_nchw(op, "data_format");
  Ints pads = ints_attr(op, "paddings");  // top, bottom, left, right
  if (pads.size() != 4) fail("paddings has {} numbers, expected 4", pads.size());
  node.attrs["paddings"] = Ints{pads[2], pads[3], pads[0], pads[1], 0, 0};
  if (string_attr(op, "mode", "constant") == "edge") node.attrs["mode"] = "replicate";
}

void write_pad(const Graph& graph, const Node& node, NewOp& op) {
  if (graph.value(node.inputs.at(0)).shape.size() != 4) {
    set_attr(op, "data_format", AttrType::kString, "NCDHW");
    return;
  }
  Ints pads = attr<Ints>(node, "paddings");
  if (pads.size() < 4)
    fail("{}: paddings has {} numbers, expected 4 or 6", describe(graph, node), pads.size());
  op.type = "pad2d";
  std::string mode = attr<std::string>(node, "mode");
  if (mode == "circular") fail("{}: Paddle pads no 4-D tensor circularly", describe(graph, node));
  op.attrs.clear();
  set_attr(op, "paddings", AttrType::kInts, Ints{pads[2], pads[3], pads[0], pads[1]});
  set_attr(op, "mode", AttrType::kString, mode == "replicate" ? "edge" : mode);
  set_attr(op, "pad_value", AttrType::kFloat, attr<double>(node, "value"));
  set_attr(op, "data_format", AttrType::kString, "NCHW");
}

}  // namespace

std::vector<OpMap> numeric_rows() {
  const std::vector<AttrMap> conv = {ints("strides"), ints("dilations"), integer("groups")};
  const std::vector<AttrMap> conv_transpose = {ints("strides"), ints("dilations"), integer("groups"),
                                               ints("output_padding"), ints("output_size")};
  const std::vector<AttrMap> batch_norm = {real("epsilon"), real("momentum")};
  const std::vector<AttrMap> resize = {flag("align_corners"),
                                       integer("align_mode"),
                                       integer("out_h"),
                                       integer("out_w"),
                                       {"scale", "scale", AttrType::kFloats}};
  // clang-format off
  std::vector<OpMap> rows = {
      {"conv2d", "conv2d", {"Input", "Filter", "Bias"}, {"Output"}, conv, {}, read_conv, write_conv},
      {"depthwise_conv2d", "conv2d", {"Input", "Filter", "Bias"}, {"Output"}, conv, {}, read_conv, write_conv},
      {"conv2d_transpose", "conv2d_transpose", {"Input", "Filter", "Bias"}, {"Output"}, conv_transpose, {}, read_conv, write_conv},
      {"depthwise_conv2d_transpose", "conv2d_transpose", {"Input", "Filter", "Bias"}, {"Output"}, conv_transpose, {}, read_conv, write_conv},
      {"matmul_v2", "matmul", {"X", "Y"}, {"Out"}, {flag("trans_x", "transpose_x"), flag("trans_y", "transpose_y")}, {}, nullptr, write_matmul},
      {"matmul", "matmul", {"X", "Y"}, {"Out"}, {flag("transpose_X", "transpose_x"), flag("transpose_Y", "transpose_y"), real("alpha")}},
      {"mul", "matmul_flat", {"X", "Y"}, {"Out"}, {integer("x_num_col_dims"), integer("y_num_col_dims")}},
      {"batch_norm", "batch_norm", {"X", "Scale", "Bias", "Mean", "Variance"}, {"Y"},
       batch_norm, {"SavedMean", "SavedVariance"}, read_layout, write_batch_norm},
      {"sync_batch_norm", "batch_norm", {"X", "Scale", "Bias", "Mean", "Variance"}, {"Y"}, batch_norm, {}, read_layout},
      {"layer_norm", "layer_norm", {"X", "Scale", "Bias"}, {"Y"}, {real("epsilon"), integer("begin_norm_axis")}, {"Mean", "Variance"}},
      {"softmax", "softmax", {"X"}, {"Out"}, {integer("axis")}},
      {"relu6", "relu6", {"X"}, {"Out"}, {real("threshold")}},
      {"leaky_relu", "leaky_relu", {"X"}, {"Out"}, {real("alpha")}},
      {"hard_sigmoid", "hard_sigmoid", {"X"}, {"Out"}, {real("slope"), real("offset")}},
      {"hard_swish", "hard_swish", {"X"}, {"Out"}, {real("threshold"), real("scale"), real("offset")}},
      {"swish", "swish", {"X"}, {"Out"}, {real("beta")}},
      {"gelu", "gelu", {"X"}, {"Out"}, {flag("approximate")}},
      {"clip", "clip", {"X", "Min", "Max"}, {"Out"}, {real("min"), real("max")}},
      {"dropout", "dropout", {"X"}, {"Out"},
       {real("dropout_prob", "p"), {"dropout_implementation", "mode", AttrType::kString}}, {"Mask"}, read_dropout, write_dropout},
      {"pool2d", "pool2d", {"X"}, {"Out"},
       {{"pooling_type", "type", AttrType::kString}, ints("ksize", "kernel"), ints("strides"), flag("ceil_mode"), flag("exclusive"),
        flag("global_pooling", "global"), flag("adaptive")}, {}, read_pool, write_pool},
      {"nearest_interp_v2", "resize", {"X", "OutSize", "Scale", "SizeTensor*"}, {"Out"}, resize, {}, read_resize, write_resize},
      {"pad3d", "pad", {"X", "Paddings"}, {"Out"},
       {ints("paddings"), {"mode", "mode", AttrType::kString}, real("value")}, {}, read_pad3d, write_pad},
      {"pad2d", "pad", {"X", "Paddings"}, {"Out"}, {{"mode", "mode", AttrType::kString}, real("pad_value", "value")}, {}, read_pad2d},
  };
  // clang-format on
  for (std::string_view name : {"bilinear_interp_v2", "nearest_interp", "bilinear_interp"})
    rows.push_back(
        {name, "resize", {"X", "OutSize", "Scale", "SizeTensor*"}, {"Out"}, resize, {}, read_resize});
  for (std::string_view name :
       {"relu", "sigmoid", "tanh", "exp", "sqrt", "abs", "erf", "log", "floor", "ceil", "sign"})
    rows.push_back({name, name, {"X"}, {"Out"}});
  for (auto [paddle, octet] :
       std::array<std::pair<const char*, const char*>, 7>{{{"elementwise_add", "add"},
                                                           {"elementwise_sub", "sub"},
                                                           {"elementwise_mul", "mul"},
                                                           {"elementwise_div", "div"},
                                                           {"elementwise_max", "max"},
                                                           {"elementwise_min", "min"},
                                                           {"elementwise_pow", "pow"}}})
    rows.push_back({paddle, octet, {"X", "Y"}, {"Out"}, {integer("axis")}});
  for (auto [paddle, octet] : std::array<std::pair<const char*, const char*>, 3>{
           {{"less_than", "less"}, {"less_equal", "less_equal"}, {"equal", "equal"}}})
    rows.push_back({paddle, octet, {"X", "Y"}, {"Out"}, {integer("axis")}});
  for (auto [paddle, octet] : std::array<std::pair<const char*, const char*>, 2>{
           {{"greater_than", "less"}, {"greater_equal", "less_equal"}}})
    rows.push_back({paddle, octet, {"Y", "X"}, {"Out"}, {integer("axis")}});
  return rows;
}

}  // namespace octet::paddle
