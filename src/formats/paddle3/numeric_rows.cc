#include <array>
#include <limits>
#include <utility>

#include "formats/paddle3/op_map.h"
#include "formats/paddle3/writer.h"

// Convolution, matrix products, normalisation, activation functions, pooling, resizing.
namespace octet::paddle3 {

namespace {

using Ints = std::vector<std::int64_t>;
constexpr std::int64_t kYes = 1, kNo = 0;

const paddle::NewAttr* find_attr(const NewOp& op, std::string_view name) {
  for (const paddle::NewAttr& attr : op.attrs)
    if (attr.name == name) return &attr;
  return nullptr;
}

double real_attr(const NewOp& op, std::string_view name, double fallback) {
  const paddle::NewAttr* attr = find_attr(op, name);
  return attr ? std::get<double>(attr->value) : fallback;
}

std::int64_t int_attr(const NewOp& op, std::string_view name, std::int64_t fallback) {
  const paddle::NewAttr* attr = find_attr(op, name);
  return attr ? std::get<std::int64_t>(attr->value) : fallback;
}

// Convolutions have no bias: it is added, as an image of one pixel.
void write_conv(ProgramWriter& out, const OpMap& row, const NewOp& op) {
  const Id bias = out.input(op, "Bias");
  if (bias == kAbsent) return out.write_row(row, op);
  const Value& image = out.value_out(op, "Output");
  const Shape& channels = out.value_in(op, "Bias").shape;
  const Id sums = out.fresh();
  out.write_row(row, op, {sums});
  const Id shaped = out.op("1.reshape", {bias, out.ints({1, -1, 1, 1})}, {}, DType::kFloat32,
                           {1, channels.empty() ? 1 : channels[0], 1, 1});
  out.op("1.add", {sums, shaped}, {}, DType::kFloat32, image.shape, out.output(op, "Output"));
}

// x * scale + bias, as an op.
Id scaled(ProgramWriter& out, Id x, double scale, double bias, const Value& like, Id result = kAbsent) {
  return out.op("1.scale", {x, out.number(scale, like.dtype)},
                {{"bias", Tag::kFloat32, bias}, {"bias_after_scale", Tag::kBool, kYes}}, like.dtype,
                like.shape, result);
}

Id clipped(ProgramWriter& out, Id x, double min, double max, const Value& like, Id result = kAbsent) {
  return out.op("1.clip", {x, out.number(min, like.dtype), out.number(max, like.dtype)}, {}, like.dtype,
                like.shape, result);
}

// Only the older op could scale the product.
void write_scaled_matmul(ProgramWriter& out, const OpMap&, const NewOp& op) {
  const Value& y = out.value_out(op);
  const Id product = out.op("1.matmul", {out.input(op, "X"), out.input(op, "Y")},
                            {{"transpose_x", Tag::kBool, int_attr(op, "transpose_X", 0)},
                             {"transpose_y", Tag::kBool, int_attr(op, "transpose_Y", 0)}},
                            y.dtype, y.shape);
  scaled(out, product, real_attr(op, "alpha", 1), 0, y, out.output(op));
}

void write_relu6(ProgramWriter& out, const OpMap& row, const NewOp& op) {
  const double threshold = real_attr(op, "threshold", 6);
  if (threshold == 6) return out.write_row(row, op);
  clipped(out, out.input(op, "X"), 0, threshold, out.value_out(op), out.output(op));
}

void write_swish(ProgramWriter& out, const OpMap& row, const NewOp& op) {
  const double beta = real_attr(op, "beta", 1);
  if (beta == 1) return out.write_row(row, op);
  const Value& y = out.value_out(op);
  const Id x = out.input(op, "X");
  const Id gate = out.op("1.sigmoid", {scaled(out, x, beta, 0, y)}, {}, y.dtype, y.shape);
  out.op("1.multiply", {x, gate}, {}, y.dtype, y.shape, out.output(op));
}

// x * clip(x + offset, 0, threshold) / scale; the op has only the usual numbers.
void write_hard_swish(ProgramWriter& out, const OpMap& row, const NewOp& op) {
  const double threshold = real_attr(op, "threshold", 6), scale = real_attr(op, "scale", 6),
               offset = real_attr(op, "offset", 3);
  if (threshold == 6 && scale == 6 && offset == 3) return out.write_row(row, op);
  const Value& y = out.value_out(op);
  const Id x = out.input(op, "X");
  const Id gate = clipped(out, scaled(out, x, 1, offset, y), 0, threshold, y);
  const Id product = out.op("1.multiply", {x, gate}, {}, y.dtype, y.shape);
  scaled(out, product, 1 / scale, 0, y, out.output(op));
}

// No bound is the largest number.
void write_clip(ProgramWriter& out, const OpMap& row, const NewOp& op) {
  constexpr double kLargest = std::numeric_limits<float>::max();
  NewOp bounded = op;
  for (paddle::NewAttr& attr : bounded.attrs)
    attr.value = std::clamp(std::get<double>(attr.value), -kLargest, kLargest);
  out.write_row(row, bounded);
}

// Between ops of five dimensions.
void write_pad2d(ProgramWriter& out, const OpMap&, const NewOp& op) {
  const Value &x = out.value_in(op, "X"), &y = out.value_out(op);
  const Ints pads = std::get<Ints>(find_attr(op, "paddings")->value);  // top, bottom, left, right
  const std::string mode = std::get<std::string>(find_attr(op, "mode")->value);
  const auto deep = [](Shape shape) {
    shape.insert(shape.begin() + 2, 1);
    return shape;
  };
  const Id volume = out.op("1.unsqueeze", {out.input(op, "X"), out.ints({2})}, {}, x.dtype, deep(x.shape));
  const OpMap& pad3d = *row_to_write("pad3d");
  NewOp padded{"pad3d", {}, {}, {}};
  padded.attrs = {{"paddings", paddle::AttrType::kInts, Ints{pads[2], pads[3], pads[0], pads[1], 0, 0}},
                  {"mode", paddle::AttrType::kString, mode == "edge" ? "replicate" : mode},
                  {"value", paddle::AttrType::kFloat, real_attr(op, "pad_value", 0)}};
  const Id result = out.fresh();
  out.emit("1.pad3d", {volume, out.ints(std::get<Ints>(padded.attrs[0].value))}, out.attrs_of(pad3d, padded),
           {{result, type_text(y.dtype, deep(y.shape))}});
  out.op("1.squeeze", {result, out.ints({2})}, {}, y.dtype, y.shape, out.output(op));
}

// Two numbers for each dimension; octet pads images.
void read_pad(const Definitions& values, const Op& op, OldOps& old) {
  const Attr* attr = op.find_attr("paddings");
  const auto* pads = attr ? std::get_if<Ints>(&attr->value) : nullptr;
  if (!pads || pads->size() != 8 || values.type(op.inputs.at(0)).dims.size() != 4)
    fail("it pads a tensor that has not 4 dimensions");
  if ((*pads)[0] != 0 || (*pads)[1] != 0 || (*pads)[2] != 0 || (*pads)[3] != 0)
    fail("it pads the batch or the channels");
  set_attr(old.ops.front(), "paddings", Ints(pads->begin() + 4, pads->end()));
  set_attr(old.ops.front(), "mode", std::string_view("constant"));
}

// Broadcasting is NumPy's. Where the older op has an axis, the operand of lower rank gets ones at its end.
void write_binary(ProgramWriter& out, const OpMap& row, const NewOp& op) {
  const std::int64_t axis = int_attr(op, "axis", -1);
  const Value &x = out.value_in(op, "X"), &y = out.value_in(op, "Y"), &z = out.value_out(op);
  const bool x_is_lower = x.shape.size() < y.shape.size();
  const Value& low = x_is_lower ? x : y;
  Shape dims = low.shape;
  const std::size_t rank = std::max(x.shape.size(), y.shape.size());
  const std::size_t behind = axis < 0 || dims.empty() || static_cast<std::size_t>(axis) + dims.size() >= rank
                                 ? 0
                                 : rank - static_cast<std::size_t>(axis) - dims.size();
  std::size_t too_many = axis < 0 ? 0 : static_cast<std::size_t>(axis) + dims.size();
  too_many = too_many > rank ? too_many - rank : 0;
  Id lower = out.input(op, x_is_lower ? "X" : "Y");
  if (behind > 0 && dims.size() == 1 && low.is_constant()) {  // as Paddle writes a bias
    Ints shape(rank, 1);
    shape[static_cast<std::size_t>(axis)] = -1;
    Shape shaped(rank, 1);
    shaped[static_cast<std::size_t>(axis)] = dims[0];
    lower = out.op("1.reshape", {lower, out.ints(shape)}, {}, low.dtype, shaped);
  } else if (behind > 0 || too_many > 0) {
    Ints axes;
    for (std::size_t i = 0; i < behind + too_many; ++i)
      axes.push_back(static_cast<std::int64_t>(behind > 0 ? dims.size() + i : dims.size() - too_many + i));
    Shape shaped = dims;
    shaped.resize(behind > 0 ? dims.size() + behind : dims.size() - too_many, 1);
    lower = out.op(behind > 0 ? "1.unsqueeze" : "1.squeeze", {lower, out.ints(axes)}, {}, low.dtype, shaped);
  }
  const Id other = out.input(op, x_is_lower ? "Y" : "X");
  out.op(fmt::format("1.{}", row.name),
         x_is_lower ? std::vector<Id>{lower, other} : std::vector<Id>{other, lower}, {}, z.dtype, z.shape,
         out.output(op));
}

// The reverse: a parameter of one dimension that is reshaped to lie along another than the last.
void read_binary(const Definitions& values, const Op& op, OldOps& old) {
  const Id y = op.inputs.at(1);
  if (!values.is_made_by(y, "1.reshape")) return;
  const Op& reshape = *values.maker(y);
  const std::size_t rank = values.type(op.inputs[0]).dims.size();
  if (reshape.inputs.size() != 2 || !values.is_parameter(reshape.inputs[0])) return;
  const Shape& parameter = values.type(reshape.inputs[0]).dims;
  const auto shape = values.ints(reshape.inputs[1]);
  if (!shape || shape->size() != rank || parameter.size() != 1) return;
  std::int64_t axis = -1;
  for (std::size_t i = 0; i < rank; ++i) {
    if ((*shape)[i] == 1) continue;
    if (axis >= 0 || ((*shape)[i] != -1 && (*shape)[i] != parameter[0])) return;
    axis = static_cast<std::int64_t>(i);
  }
  if (axis < 0) return;
  slot(old.ops.front(), "Y") = {old.name(reshape.inputs[0])};
  set_attr(old.ops.front(), "axis", axis);
}

// The last states are a list; what becomes of the rest is up to formats/paddle_common/recurrent.h.
void read_rnn(const Definitions& values, const Op& op, OldOps& old) {
  if (op.outputs.size() != 4) fail("it has {} outputs, expected 4", op.outputs.size());
  const Result& states = op.outputs[2];
  if (!values.is_used(states.id)) return;
  std::vector<std::string_view> names;
  for (const Id state : take_apart(values, states, old))
    names.push_back(state == kAbsent ? std::string_view() : old.name(state));
  old.ops.front().outputs.push_back({"State", std::move(names)});
}

// A power of one number.
void read_pow(const Definitions&, const Op& op, OldOps& old) {
  const Attr* attr = op.find_attr("y");
  const auto* real = attr ? std::get_if<double>(&attr->value) : nullptr;
  const auto* integer = attr ? std::get_if<std::int64_t>(&attr->value) : nullptr;
  if (!real && !integer) fail("attribute y is no number");
  const std::string_view exponent =
      old.inner(op.outputs.at(0).id, "exponent", {true, true, DType::kFloat32, {1}});
  slot(old.ops.front(), "Y").push_back(exponent);
  OpDesc full{
      .type = "fill_constant", .inputs = {}, .outputs = {{"Out", {exponent}}}, .attrs = {}, .bytes = {}};
  set_attr(full, "shape", Ints{1});
  set_attr(full, "value", real ? *real : static_cast<double>(*integer));
  old.ops.insert(old.ops.begin(), std::move(full));
}

}  // namespace

std::vector<OpMap> numeric_rows() {
  const auto text = [](std::string_view name, std::string_view old, const char* fallback) {
    return AttrMap{name, Tag::kText, old, std::string(fallback)};
  };
  const auto flag = [](std::string_view name, std::string_view old, std::int64_t fallback) {
    return AttrMap{name, Tag::kBool, old, fallback};
  };
  const auto integer = [](std::string_view name, std::string_view old, std::int64_t fallback) {
    return AttrMap{name, Tag::kInt32, old, fallback};
  };
  const auto real = [](std::string_view name, std::string_view old, double fallback) {
    return AttrMap{name, Tag::kFloat32, old, fallback};
  };
  const auto numbers = [](std::string_view name, Ints fallback) {
    return AttrMap{name, Tag::kInt32s, name, std::move(fallback)};
  };
  const AttrMap layout = text("data_format", "data_format", "NCHW"),
                algorithm = text("padding_algorithm", "padding_algorithm", "EXPLICIT");
  const std::vector<AttrMap> conv = {numbers("strides", {1, 1}),   numbers("paddings", {0, 0}),    algorithm,
                                     numbers("dilations", {1, 1}), integer("groups", "groups", 1), layout};
  const std::vector<AttrMap> conv_transpose = {numbers("strides", {1, 1}),
                                               numbers("paddings", {0, 0}),
                                               numbers("output_padding", {}),
                                               algorithm,
                                               integer("groups", "groups", 1),
                                               numbers("dilations", {1, 1}),
                                               layout};
  const std::vector<AttrMap> batch_norm = {flag("is_test", "is_test", kYes),
                                           real("momentum", "momentum", 0.9),
                                           real("epsilon", "epsilon", 1e-5),
                                           text("data_format", "data_layout", "NCHW"),
                                           flag("use_global_stats", "use_global_stats", kNo),
                                           flag("trainable_statistics", "", kNo)};
  const std::vector<Operand> norm = {tensor("X"), tensor("Mean"), tensor("Variance"), tensor("Scale"),
                                     tensor("Bias")};
  // An inference model leaves mean and variance as they are.
  const Output mean{.same_as = 1}, variance{.same_as = 2};
  const std::vector<Output> norm_out = {{"Y"}, mean, variance, {}, {}, {"", DType::kUInt8}};
  const std::vector<AttrMap> resize = {text("data_format", "data_layout", "NCHW"),
                                       integer("out_d", "", -1),
                                       integer("out_h", "out_h", -1),
                                       integer("out_w", "out_w", -1),
                                       {"scale", Tag::kFloat64s, "scale", std::vector<double>{}, 4},
                                       text("interp_method", "interp_method", "nearest"),
                                       flag("align_corners", "align_corners", kYes),
                                       integer("align_mode", "align_mode", 1)};
  const std::vector<Operand> image = {tensor("Input"), tensor("Filter")};
  // clang-format off
  std::vector<OpMap> rows = {
      {"conv2d", "conv2d", image, conv, {{"Output"}}, nullptr, write_conv},
      {"depthwise_conv2d", "depthwise_conv2d", image, conv, {{"Output"}}, nullptr, write_conv},
      {"conv2d_transpose", "conv2d_transpose", {tensor("Input"), tensor("Filter"), ints("output_size")}, conv_transpose, {{"Output"}}, nullptr, write_conv},
      {"depthwise_conv2d_transpose", "depthwise_conv2d_transpose", {tensor("Input"), tensor("Filter"), ints("output_size")}, conv_transpose, {{"Output"}}, nullptr, write_conv},
      {"matmul", "matmul_v2", {tensor("X"), tensor("Y")}, {flag("transpose_x", "trans_x", kNo), flag("transpose_y", "trans_y", kNo)}},
      {"matmul", "matmul", {}, {}, {}, nullptr, write_scaled_matmul},
      {"matmul_with_flatten", "mul", {tensor("X"), tensor("Y")}, {integer("x_num_col_dims", "x_num_col_dims", 1), integer("y_num_col_dims", "y_num_col_dims", 1)}},
      {"batch_norm_", "batch_norm", norm, batch_norm, norm_out},
      {"batch_norm", "batch_norm", norm, batch_norm, norm_out},
      {"sync_batch_norm_", "sync_batch_norm", norm, batch_norm, norm_out},
      {"layer_norm", "layer_norm", {tensor("X"), tensor("Scale"), tensor("Bias")},
       {real("epsilon", "epsilon", 1e-5), integer("begin_norm_axis", "begin_norm_axis", 1)}, {{"Y"}, {}, {}}},
      {"softmax", "softmax", {tensor("X")}, {integer("axis", "axis", -1)}},
      {"relu6", "relu6", {tensor("X")}, {}, {{"Out"}}, nullptr, write_relu6},
      {"leaky_relu", "leaky_relu", {tensor("X")}, {{"negative_slope", Tag::kFloat64, "alpha", 0.02, 4}}},
      {"hardsigmoid", "hard_sigmoid", {tensor("X")}, {real("slope", "slope", 0.2), real("offset", "offset", 0.5)}},
      {"hardswish", "hard_swish", {tensor("X")}, {}, {{"Out"}}, nullptr, write_hard_swish},
      {"swish", "swish", {tensor("X")}, {}, {{"Out"}}, nullptr, write_swish},
      {"silu", "swish", {tensor("X")}},
      {"gelu", "gelu", {tensor("X")}, {flag("approximate", "approximate", kNo)}},
      {"clip", "clip", {tensor("X"), number_like_x("min", "Min"), number_like_x("max", "Max")}, {}, {{"Out"}}, nullptr, write_clip},
      {"dropout", "dropout", {tensor("X"), tensor(""), number("dropout_prob", "", DType::kFloat32)},
       {flag("is_test", "", kYes), text("mode", "dropout_implementation", "downgrade_in_infer"), integer("seed", "", 0), flag("fix_seed", "", kNo)},
       {{"Out"}, {"", DType::kUInt8}}},
      {"pool2d", "pool2d", {tensor("X"), ints("ksize")},
       {{"strides", Tag::kInt64s, "strides", Ints{1, 1}, 2}, {"paddings", Tag::kInt64s, "paddings", Ints{0, 0}, 2},
        flag("ceil_mode", "ceil_mode", kNo), flag("exclusive", "exclusive", kYes), layout, text("pooling_type", "pooling_type", "max"),
        flag("global_pooling", "global_pooling", kNo), flag("adaptive", "adaptive", kNo), algorithm}},
      {"pad3d", "pad3d", {tensor("X"), ints("paddings", "Paddings")},
       {text("mode", "mode", "constant"), {"pad_value", Tag::kFloat64, "value", 0.0, 4}, text("data_format", "data_format", "NCDHW")}},
      {"rnn", "rnn", {tensor("Input"), list("PreState"), list("WeightList"), tensor("SequenceLength"), tensor("")},
       {real("dropout_prob", "dropout_prob", 0), flag("is_bidirec", "is_bidirec", kNo), integer("input_size", "input_size", 0),
        integer("hidden_size", "hidden_size", 0), integer("num_layers", "num_layers", 1), text("mode", "mode", "LSTM"),
        integer("seed", "seed", 0), flag("is_test", "is_test", kYes)}, {{"Out"}, {"", DType::kUInt8}, {"", DType::kFloat32, 0, true}, {"", DType::kUInt8}}, read_rnn},
      {"pad", "pad2d", {tensor("X"), number_like_x("pad_value", "")}, {}, {{"Out"}}, read_pad, write_pad2d},
  };
  // clang-format on
  for (auto [name, old] : std::array<std::pair<const char*, const char*>, 2>{
           {{"nearest_interp", "nearest_interp_v2"}, {"bilinear_interp", "bilinear_interp_v2"}}})
    rows.push_back(
        {name, old, {tensor("X"), tensor("OutSize"), list("SizeTensor"), tensor("Scale")}, resize});
  for (std::string_view name :
       {"relu", "sigmoid", "tanh", "exp", "sqrt", "abs", "erf", "log", "floor", "ceil", "sign"})
    rows.push_back({name, name, {tensor("X")}});
  for (auto [name, old] :
       std::array<std::pair<const char*, const char*>, 7>{{{"add", "elementwise_add"},
                                                           {"subtract", "elementwise_sub"},
                                                           {"multiply", "elementwise_mul"},
                                                           {"divide", "elementwise_div"},
                                                           {"maximum", "elementwise_max"},
                                                           {"minimum", "elementwise_min"},
                                                           {"elementwise_pow", "elementwise_pow"}}})
    rows.push_back({name, old, {tensor("X"), tensor("Y")}, {}, {{"Out"}}, read_binary, write_binary});
  for (std::string_view name : {"less_than", "less_equal", "equal", "greater_than", "greater_equal"})
    rows.push_back({name, name, {tensor("X"), tensor("Y")}, {}, {{"Out"}}, nullptr, write_binary});
  rows.push_back({"pow", "elementwise_pow", {tensor("X")}, {}, {{"Out"}}, read_pow});
  return rows;
}

}  // namespace octet::paddle3
