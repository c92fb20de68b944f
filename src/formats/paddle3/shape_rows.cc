#include <algorithm>
#include <array>
#include <utility>

#include "formats/paddle3/op_map.h"
#include "formats/paddle3/writer.h"

// What moves, shapes, reduces or makes tensors.
namespace octet::paddle3 {

namespace {

using Ints = std::vector<std::int64_t>;

OpDesc old_op(std::string_view type, std::string_view slot, std::vector<std::string_view> inputs,
              std::string_view output) {
  return {.type = type,
          .inputs = {{slot, std::move(inputs)}},
          .outputs = {{"Out", {output}}},
          .attrs = {},
          .bytes = {}};
}

// The older op counts in 32 bits.
void read_shape64(const Definitions&, const Op& op, OldOps& old) {
  Type type = op.outputs.at(0).type;
  type.dtype = DType::kInt32;
  const std::string_view narrow = old.inner(op.outputs[0].id, "int32", type);
  OpDesc cast = old_op("cast", "X", {narrow}, old.name(op.outputs[0].id));
  set_attr(cast, "out_dtype", std::int64_t{paddle::code_of(DType::kInt64)});
  old.ops.front().outputs = {{"Out", {narrow}}};
  old.ops.push_back(std::move(cast));
}

// Each part gets the new dimension, then they are joined.
void read_stack(const Definitions& values, const Op& op, OldOps& old) {
  const std::optional<std::vector<Id>> parts =
      op.inputs.size() == 1 ? values.list(op.inputs[0]) : std::nullopt;
  const Attr* attr = op.find_attr("axis");
  const auto* axis = attr ? std::get_if<std::int64_t>(&attr->value) : nullptr;
  if (!parts || !axis) fail("what it stacks is no list that octet knows");
  const Id id = op.outputs.at(0).id;
  old.ops.clear();
  std::vector<std::string_view> joined;
  for (std::size_t i = 0; i < parts->size(); ++i) {
    Type type = values.type((*parts)[i]);
    const auto rank = static_cast<std::int64_t>(type.dims.size());
    const std::int64_t at = *axis < 0 ? *axis + rank + 1 : *axis;
    if (at < 0 || at > rank) fail("it stacks along dimension {} of tensors that have {}", *axis, rank);
    type.dims.insert(type.dims.begin() + at, 1);
    joined.push_back(old.inner(id, fmt::format("{}", i), std::move(type)));
    OpDesc part = old_op("unsqueeze2", "X", {old.name((*parts)[i])}, joined.back());
    set_attr(part, "axes", Ints{*axis});
    old.ops.push_back(std::move(part));
  }
  OpDesc concat = old_op("concat", "X", std::move(joined), old.name(id));
  set_attr(concat, "axis", *axis);
  old.ops.push_back(std::move(concat));
}

// The result is a list, which other ops take apart, as a whole or item by item.
void read_split(const Definitions& values, const Op& op, OldOps& old) {
  const Result& list = op.outputs.at(0);
  const std::vector<Id> parts = take_apart(values, list, old);
  Type unknown = values.type(op.inputs.at(0));
  std::ranges::fill(unknown.dims, kUnknown);
  std::vector<std::string_view>& names = (old.ops.front().outputs = {{"Out", {}}})[0].arguments;
  for (std::size_t i = 0; i < parts.size(); ++i)
    names.push_back(parts[i] == kAbsent ? old.inner(list.id, fmt::format("{}", i), unknown)
                                        : old.name(parts[i]));
}

const std::vector<std::string>& arguments(const NewOp& op, std::string_view slot) {
  static const std::vector<std::string> kNone;
  for (const auto& [name, names] : op.inputs)
    if (name == slot) return names;
  return kNone;
}

void write_split(ProgramWriter& out, const OpMap& row, const NewOp& op) {
  const std::vector<std::string>& parts = op.outputs.at(0).second;
  Ints sections;
  std::int64_t num = 0;
  for (const paddle::NewAttr& attr : op.attrs) {
    if (attr.name == "sections") sections = std::get<Ints>(attr.value);
    if (attr.name == "num") num = std::get<std::int64_t>(attr.value);
  }
  const Id x = out.input(op, "X"), axis = out.operand(row.inputs.back(), op);
  std::vector<std::string> types;
  for (const std::string& part : parts) types.push_back(out.type_of(out.value(part)));
  const Id result = out.fresh();
  if (num != 0)
    out.emit("1.split_with_num", {x, axis}, {{"num", Tag::kInt32, num}}, {{result, list_text(types)}});
  else
    out.emit("1.split", {x, out.ints(sections), axis}, {}, {{result, list_text(types)}});
  out.split_list(result, parts);
}

void write_slice(ProgramWriter& out, const OpMap& row, const NewOp& op) {
  NewOp with_flags = op;
  // 1: the value is a constant, -1: it is computed.
  const bool is_computed = op.inputs.size() > 1;
  for (paddle::NewAttr& attr : with_flags.attrs)
    if (attr.name == "infer_flags") std::ranges::fill(std::get<Ints>(attr.value), is_computed ? -1 : 1);
  out.write_row(row, with_flags);
}

void write_full(ProgramWriter& out, const OpMap& row, const NewOp& op) {
  const std::vector<std::string>& items = arguments(op, "ShapeTensorList");
  Id shape = items.empty() ? out.input(op, "ShapeTensor") : out.vector_of(items);
  Id value = out.input(op, "ValueTensor");
  if (shape == kAbsent && value == kAbsent) return out.write_row(row, op);
  const Value& y = out.value_out(op);
  Ints dims;
  double number = 0;
  for (const paddle::NewAttr& attr : op.attrs) {
    if (attr.name == "shape") dims = std::get<Ints>(attr.value);
    if (attr.name == "value") number = std::get<double>(attr.value);
  }
  if (shape == kAbsent) shape = out.ints(dims);
  if (value == kAbsent) value = out.number(number, y.dtype);
  out.op("1.full_with_tensor", {value, shape}, {{"dtype", Tag::kDType, std::string(name_of(y.dtype))}},
         y.dtype, y.shape, out.output(op));
}

void read_reduce(const Definitions&, const Op&, OldOps& old) {
  OpDesc& op = old.ops.front();
  const paddle::AttrDesc* dims = op.find_attr("dim");
  const auto* axes = dims ? std::get_if<Ints>(&dims->value) : nullptr;
  if (!axes) fail("its axes are computed in the run");
  if (axes->empty()) set_attr(op, "reduce_all", std::int64_t{1});
}

void write_reduce(ProgramWriter& out, const OpMap& row, const NewOp& op) {
  NewOp reduced = op;
  const auto all = std::ranges::find(reduced.attrs, "reduce_all", &paddle::NewAttr::name);
  if (all != reduced.attrs.end() && std::get<std::int64_t>(all->value) != 0)
    for (paddle::NewAttr& attr : reduced.attrs)
      if (attr.name == "dim") attr.value = Ints{};
  out.write_row(row, reduced);
}

}  // namespace

std::vector<OpMap> shape_rows() {
  const auto numbers = [](std::string_view name, std::string_view old, Tag tag) {
    return AttrMap{name, tag, old, Ints{}};
  };
  const auto integer = [](std::string_view name, std::int64_t fallback) {
    return AttrMap{name, Tag::kInt32, name, fallback};
  };
  const auto flag = [](std::string_view name, std::string_view old) {
    return AttrMap{name, Tag::kBool, old, std::int64_t{0}};
  };
  const auto dtype = [](std::string_view old, const char* fallback) {
    return AttrMap{"dtype", Tag::kDType, old, std::string(fallback)};
  };
  const Operand axis = number("axis", "AxisTensor", DType::kInt32);
  // clang-format off
  std::vector<OpMap> rows = {
      {"scale", "scale", {tensor("X"), number_like_x("scale", "ScaleTensor")},
       {{"bias", Tag::kFloat32, "bias", 0.0}, {"bias_after_scale", Tag::kBool, "bias_after_scale", std::int64_t{1}}}},
      {"cast", "cast", {tensor("X")}, {dtype("out_dtype", "float32")}},
      {"assign", "assign", {tensor("X")}},
      {"reshape", "reshape2", {tensor("X"), ints("shape", "Shape", "ShapeTensor")}},
      {"flatten", "flatten_contiguous_range", {tensor("X")}, {integer("start_axis", 1), integer("stop_axis", -1)}},
      {"squeeze", "squeeze2", {tensor("X"), ints("axes", "AxesTensor")}},
      {"unsqueeze", "unsqueeze2", {tensor("X"), ints("axes", "AxesTensor")}},
      {"transpose", "transpose2", {tensor("X")}, {numbers("perm", "axis", Tag::kInt32s)}},
      {"concat", "concat", {list("X"), axis}},
      {"split", "split", {tensor("X"), ints("sections"), axis}, {}, {{"Out"}}, read_split, write_split},
      {"split_with_num", "split", {tensor("X"), axis}, {integer("num", 0)}, {{"Out"}}, read_split},
      {"stack", "stack", {tensor("X")}, {}, {{"Out"}}, read_stack},
      {"slice", "slice", {tensor("Input"), ints("starts", "StartsTensor", "StartsTensorList"), ints("ends", "EndsTensor", "EndsTensorList")},
       {numbers("axes", "axes", Tag::kInt64s), numbers("infer_flags", "infer_flags", Tag::kInt64s), numbers("decrease_axis", "decrease_axis", Tag::kInt64s)},
       {{"Out"}}, nullptr, write_slice},
      {"shape", "shape", {tensor("Input")}},
      {"shape64", "shape", {tensor("Input")}, {}, {{"Out"}}, read_shape64},
      {"shape64", "shape64", {tensor("Input")}},  // to write
      {"full", "fill_constant", {},
       {{"shape", Tag::kIntArray, "shape", Ints{}}, {"value", Tag::kFloat64, "value", 0.0}, dtype("dtype", "float32"), {"place", Tag::kPlace}},
       {{"Out"}}, nullptr, write_full},
      {"full_with_tensor", "fill_constant", {number("value", "ValueTensor", DType::kFloat32), ints("shape", "ShapeTensor", "ShapeTensorList")}, {dtype("dtype", "float32")}},
      {"argmax", "arg_max", {tensor("X"), number("axis", "", DType::kInt64)}, {flag("keepdims", "keepdims"), flag("flatten", "flatten"), dtype("dtype", "int64")}},
      {"mean", "reduce_mean", {tensor("X"), ints("dim")}, {flag("keepdim", "keep_dim")}, {{"Out"}}, read_reduce, write_reduce},
      {"max", "reduce_max", {tensor("X"), ints("dim")}, {flag("keepdim", "keep_dim")}, {{"Out"}}, read_reduce, write_reduce},
      {"min", "reduce_min", {tensor("X"), ints("dim")}, {flag("keepdim", "keep_dim")}, {{"Out"}}, read_reduce, write_reduce},
      {"sum", "reduce_sum", {tensor("X"), ints("dim")}, {dtype("", "Undefined(ALL_DTYPE)"), flag("keepdim", "keep_dim")}, {{"Out"}}, read_reduce, write_reduce},
  };
  // clang-format on
  return rows;
}

}  // namespace octet::paddle3
