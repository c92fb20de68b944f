#include <algorithm>
#include <cmath>

#include "formats/paddle3/op_map.h"
#include "formats/paddle3/writer.h"
#include "graph/quantization.h"

// Quantized models. Paddle 3.3 runs quantize_linear and dequantize_linear wrong on CPUs: its passes take
// them out without applying their scales. They are read by what they mean; what octet writes says the same
// in older ops that run right: fake_quantize_dequantize_moving_average_abs_max for tensors, and int8 weights
// that a cast and fake_channel_wise_dequantize_max_abs bring back.
namespace octet::paddle3 {

namespace {

using Ints = std::vector<std::int64_t>;

std::int64_t int_attr(const NewOp& op, std::string_view name, std::int64_t fallback) {
  for (const paddle::NewAttr& attr : op.attrs)
    if (attr.name == name) return std::get<std::int64_t>(attr.value);
  return fallback;
}

std::int64_t int_of(const Op& op, std::string_view name, std::int64_t fallback) {
  const Attr* attr = op.find_attr(name);
  const auto* integer = attr ? std::get_if<std::int64_t>(&attr->value) : nullptr;
  return integer ? *integer : fallback;
}

// Rounded to even it is quantize_linear and dequantize_linear in one, to the bit.
void read_fake_quant(const Definitions&, const Op& op, OldOps& old) {
  if (int_of(op, "round_type", 1) != 0) return;
  OpDesc& quantize = old.ops.front();
  if (quantize.input("X").empty() || quantize.input("InScale").empty()) fail("it has no input or no scale");
  const std::string_view x = quantize.input("X").front();
  const std::string_view scale = quantize.input("InScale").front(),
                         integers = old.inner(op.outputs.at(0).id, "quantized", op.outputs[0].type),
                         y = old.name(op.outputs[0].id);
  const auto linear = [&](std::string_view type, std::string_view from, std::string_view to) {
    OpDesc linear{.type = type,
                  .inputs = {{"X", {from}}, {"Scale", {scale}}},
                  .outputs = {{"Y", {to}}},
                  .attrs = {},
                  .bytes = {}};
    set_attr(linear, "quant_axis", std::int64_t{-1});
    set_attr(linear, "bit_length", int_of(op, "bit_length", 8));
    return linear;
  };
  old.ops = {linear("quantize_linear", x, integers), linear("dequantize_linear", integers, y)};
}

// int8 weights, brought back: what dequantize_linear does.
void read_weights(const Definitions& values, const Op& op, OldOps& old, std::int64_t bits, std::int64_t axis,
                  Id scale) {
  const Id x = op.inputs.at(0);
  if (!values.is_made_by(x, "1.cast") || values.maker(x)->inputs.size() != 1) return;
  const Id weights = values.maker(x)->inputs[0];
  if (!values.is_parameter(weights) || values.type(weights).dtype != DType::kInt8) return;
  OpDesc& dequantize = old.ops.front();
  dequantize.type = "dequantize_linear";
  dequantize.inputs = {{"X", {old.name(weights)}}, {"Scale", {old.name(scale)}}};
  dequantize.outputs.front().name = "Y";
  dequantize.attrs.clear();
  set_attr(dequantize, "quant_axis", axis);
  set_attr(dequantize, "bit_length", bits);
}

void read_channel_wise(const Definitions& values, const Op& op, OldOps& old) {
  const auto scales = values.list(op.inputs.at(1));
  const Attr* attr = op.find_attr("quant_bits");
  const auto* bits = attr ? std::get_if<Ints>(&attr->value) : nullptr;
  if (!scales || scales->size() != 1 || !bits || bits->empty()) return;
  read_weights(values, op, old, bits->front(), int_of(op, "quant_axis", 0), scales->front());
}

void read_ranged(const Definitions& values, const Op& op, OldOps& old) {
  const Attr* attr = op.find_attr("max_range");
  const auto* real = attr ? std::get_if<double>(&attr->value) : nullptr;
  if (!real) return;
  for (int bits = 2; bits <= 8; ++bits)
    if (*real == levels_of(bits)) read_weights(values, op, old, bits, -1, op.inputs.at(1));
}

// With is_test it would not measure its scale but take that of an output, which these files can't give it;
// Paddle itself stops there.
void read_measured(const Definitions&, const Op& op, OldOps&) {
  if (int_of(op, "is_test", 0) != 0) fail("is_test is true, so it has no scale");
}

// With is_test the older op reads the scale that it would write otherwise; Paddle 3's can't.
void write_measured(ProgramWriter& out, const OpMap& row, const NewOp& op) {
  if (int_attr(op, "is_test", 0) != 0)
    fail("quantize \"{}\": Paddle 3 has no such op with fixed scales per channel", out.value_out(op).name);
  out.write_row(row, op);
}

// quantize_linear alone: integers held as floats.
void write_quantize(ProgramWriter& out, const OpMap&, const NewOp& op) {
  const Value& y = out.value_out(op, "Y");
  const Id x = out.input(op, "X");
  if (int_attr(op, "only_observer", 0) != 0) {  // it carries a scale, for tools that these files have none of
    out.op("1.assign", {x}, {}, y.dtype, y.shape, out.output(op, "Y"));
    return;
  }
  if (int_attr(op, "quant_axis", -1) != -1)
    fail("quantize \"{}\": Paddle 3 has no such op with fixed scales per channel", y.name);
  NewOp fake = op;
  fake.type = "fake_quantize_moving_average_abs_max";
  for (auto& [slot, names] : fake.inputs)
    if (slot == "Scale") slot = "InScale";
  fake.outputs.front().first = "Out";
  out.write_row(*row_to_write(fake.type), fake);
}

void write_dequantize(ProgramWriter& out, const OpMap&, const NewOp& op) {
  const Value &x = out.value_in(op, "X"), &y = out.value_out(op, "Y");
  const std::int64_t axis = int_attr(op, "quant_axis", -1), bits = int_attr(op, "bit_length", 8);
  Id integers = out.input(op, "X");
  if (x.dtype != DType::kFloat32)
    integers = out.op("1.cast", {integers}, {{"dtype", Tag::kDType, std::string("float32")}}, DType::kFloat32,
                      x.shape);
  if (axis == -1) {
    out.op("1.fake_dequantize_max_abs", {integers, out.input(op, "Scale")},
           {{"max_range", Tag::kFloat32, static_cast<double>(levels_of(static_cast<int>(bits)))}},
           DType::kFloat32, y.shape, out.output(op, "Y"));
    return;
  }
  out.op("1.fake_channel_wise_dequantize_max_abs", {integers, out.list({out.value_in(op, "Scale").name})},
         {{"quant_bits", Tag::kInt32s, Ints{bits}},
          {"quant_axis", Tag::kInt32, axis},
          {"x_num_col_dims", Tag::kInt32, std::int64_t{1}}},
         DType::kFloat32, y.shape, out.output(op, "Y"));
}

}  // namespace

std::vector<OpMap> quantization_rows() {
  const auto integer = [](std::string_view name, std::int64_t fallback) {
    return AttrMap{name, Tag::kInt32, name, fallback};
  };
  const AttrMap bits = integer("bit_length", 8), rounding = integer("round_type", 1),
                axis = integer("quant_axis", 0), test{"is_test", Tag::kBool, "is_test", std::int64_t{1}},
                rate{"moving_rate", Tag::kFloat32, "", 0.9};
  const std::vector<Operand> linear = {tensor("X"), tensor("Scale"), tensor("ZeroPoint"), tensor(""),
                                       tensor("")};
  const std::vector<AttrMap> linear_attrs = {integer("quant_axis", -1),
                                             bits,
                                             integer("round_type", 0),
                                             test,
                                             {"only_observer", Tag::kBool, "only_observer", std::int64_t{0}}};
  const std::vector<Operand> moving = {tensor("X"), tensor("InScale"), tensor(""), tensor("")};
  // Fixed scales are left as they are: an op behind it may read them from there.
  const Output scale{.same_as = 1};
  const std::vector<Output> linear_out = {{"Y"}, {}, {}, {}}, moving_out = {{"Out"}, scale, {}, {}};
  const std::vector<Output> measured = {{"Out"}, {"OutScale"}};
  // clang-format off
  std::vector<OpMap> rows = {
      {"quantize_linear", "quantize_linear", linear, linear_attrs, linear_out, nullptr, write_quantize},
      {"dequantize_linear", "dequantize_linear", linear, linear_attrs, linear_out, nullptr, write_dequantize},
      {"fake_quantize_dequantize_moving_average_abs_max", "fake_quantize_dequantize_moving_average_abs_max", moving,
       {rate, bits, test, rounding}, moving_out, read_fake_quant},
      {"fake_quantize_moving_average_abs_max", "fake_quantize_moving_average_abs_max", moving, {rate, bits, test, rounding}, moving_out},
      {"fake_quantize_range_abs_max", "fake_quantize_range_abs_max", {tensor("X"), tensor("InScale"), tensor("")},
       {{"window_size", Tag::kInt32, "", std::int64_t{10000}}, bits, test, rounding}, {{"Out"}, scale, {}}},
      {"fake_quantize_abs_max", "fake_quantize_abs_max", {tensor("X")}, {bits, rounding}, measured},
      {"fake_quantize_dequantize_abs_max", "fake_quantize_dequantize_abs_max", {tensor("X")}, {bits, rounding}, measured},
      {"fake_channel_wise_quantize_abs_max", "fake_channel_wise_quantize_abs_max", {tensor("X")},
       {bits, rounding, axis, {"is_test", Tag::kBool, "", std::int64_t{0}}}, measured, read_measured, write_measured},
      {"fake_channel_wise_quantize_dequantize_abs_max", "fake_channel_wise_quantize_dequantize_abs_max", {tensor("X")}, {bits, rounding, axis}, measured},
      {"fake_channel_wise_dequantize_max_abs", "fake_channel_wise_dequantize_max_abs", {tensor("X"), list("Scales")},
       {{"quant_bits", Tag::kInt32s, "quant_bits", Ints{8}}, axis, integer("x_num_col_dims", 1)}, {{"Out"}}, read_channel_wise},
      {"fake_dequantize_max_abs", "fake_dequantize_max_abs", {tensor("X"), tensor("Scale")}, {{"max_range", Tag::kFloat32, "max_range", 127.0}}, {{"Out"}}, read_ranged},
      {"moving_average_abs_max_scale", "moving_average_abs_max_scale", {tensor("X"), tensor(""), tensor("")}, {rate, test}, {{"Out"}, {}, {}, {}}},
  };
  // clang-format on
  // What Paddle makes of the older ops has names for ops that write their scales in place.
  for (const char* name : {"fake_quantize_dequantize_moving_average_abs_max_",
                           "fake_quantize_moving_average_abs_max_", "fake_quantize_range_abs_max_"}) {
    const std::string_view in_place = name, plain = in_place.substr(0, in_place.size() - 1);
    OpMap row = *std::ranges::find(rows, plain, &OpMap::name);
    row.name = in_place;
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace octet::paddle3
