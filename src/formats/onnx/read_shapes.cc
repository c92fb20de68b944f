#include <algorithm>

#include "formats/onnx/rows.h"

// What moves, shapes, reduces or makes tensors.
namespace octet::onnx {

namespace {

// Shape arithmetic is in int64; some files have int32 there.
void read_reshape(Reader& r, const ReadRow&) {
  Attrs attrs;
  if (r.integer("allowzero", 0) != 0) attrs["zero_copies"] = false;
  std::vector<ValueId> inputs = {r.in(0)};
  if (!r.has(1) || r.constant(r.in(1)))
    attrs["shape"] = r.list(1, "shape").value_or(Ints());
  else
    inputs.push_back(r.in(1));
  // A constant shape without dimensions makes a scalar, which an empty attribute does as well.
  r.result(r.emit("reshape", inputs, attrs));
}

// To a matrix, whatever the rank.
void read_flatten(Reader& r, const ReadRow&) {
  const ValueId x = r.in(0);
  const auto rank = static_cast<std::int64_t>(r.rank(x));
  const std::int64_t given = r.integer("axis", 1), axis = given < 0 ? given + rank : given;
  if (axis < 0 || axis > rank) fail("axis is {}, x has {} dimensions", given, rank);
  if (axis == 0) return r.result(r.emit("reshape", {x}, {{"shape", Ints{1, -1}}}));
  if (axis == rank) return r.result(r.emit("reshape", {x}, {{"shape", Ints{-1, 1}}}));
  ValueId y = r.emit("flatten", {x}, {{"start_axis", axis}, {"stop_axis", rank - 1}});
  if (axis > 1) y = r.emit("flatten", {y}, {{"start_axis", std::int64_t{0}}, {"stop_axis", axis - 1}});
  r.result(y);
}

void read_squeeze(Reader& r, const ReadRow&) {
  const std::optional<Ints> axes = r.list(1, "axes");
  Attrs attrs;
  if (axes && !axes->empty()) attrs = {{"axes", *axes}, {"strict", true}};
  r.result(r.emit("squeeze", {r.in(0)}, attrs));
}

// ONNX counts axes in the result; octet inserts one after the other.
void read_unsqueeze(Reader& r, const ReadRow&) {
  Ints axes = r.list(1, "axes").value_or(Ints());
  const bool has_negative = std::any_of(axes.begin(), axes.end(), [](std::int64_t axis) { return axis < 0; });
  if (has_negative)
    for (std::int64_t& axis : axes) axis = Reader::axis(axis, r.rank(r.in(0)) + axes.size());
  std::sort(axes.begin(), axes.end());
  if (std::adjacent_find(axes.begin(), axes.end()) != axes.end()) fail("axes has one number twice");
  if (axes.empty()) return r.result(r.in(0));
  r.result(r.emit("unsqueeze", {r.in(0)}, {{"axes", axes}}));
}

void read_transpose(Reader& r, const ReadRow&) {
  std::optional<Ints> perm = r.ints("perm");
  if (!perm) {
    perm = Ints();
    for (std::size_t i = r.rank(r.in(0)); i-- > 0;) perm->push_back(static_cast<std::int64_t>(i));
  }
  r.result(r.emit("transpose", {r.in(0)}, {{"perm", *perm}}));
}

void read_concat(Reader& r, const ReadRow&) {
  std::vector<ValueId> inputs = {kNoValue};
  for (std::size_t i = 0; i < r.input_count(); ++i) inputs.push_back(r.in(i));
  if (inputs.size() == 2) return r.result(r.in(0));
  r.result(r.emit("concat", inputs, {{"axis", r.integer("axis")}}));
}

void read_split(Reader& r, const ReadRow&) {
  const std::size_t parts = r.output_count();
  Attrs attrs = {{"axis", r.integer("axis", 0)}};
  std::vector<ValueId> inputs = {r.in(0)};
  if (r.has(1) && !r.constant(r.in(1))) {
    inputs = {r.in(0), kNoValue, r.in(1)};
  } else if (std::optional<Ints> sections = r.list(1, "split")) {
    attrs["sections"] = *sections;
  } else {
    attrs["num"] = static_cast<std::int64_t>(parts);
    if (r.find("num_outputs")) attrs["uneven"] = true;
  }
  const std::vector<ValueId> made = r.emit_multi("split", inputs, attrs, parts);
  for (std::size_t i = 0; i < parts; ++i) r.result(made[i], i);
}

void read_slice(Reader& r, const ReadRow&) {
  if (!r.has(1)) {  // before opset 10
    const Ints starts = r.ints("starts").value_or(Ints()), ends = r.ints("ends").value_or(Ints());
    Ints axes;
    for (std::size_t i = 0; i < starts.size(); ++i) axes.push_back(static_cast<std::int64_t>(i));
    return r.result(r.emit("slice", {r.in(0)},
                           {{"axes", r.ints("axes").value_or(axes)}, {"starts", starts}, {"ends", ends}}));
  }
  const Shape& count = r.shape(r.in(1));
  if (count.size() != 1 || count[0] == kUnknown) fail("how many starts it has is not known before a run");
  Attrs attrs;
  if (r.has(3)) {
    attrs["axes"] = r.need_ints(3, "axes");
  } else {
    Ints axes;
    for (std::int64_t i = 0; i < count[0]; ++i) axes.push_back(i);
    attrs["axes"] = axes;
  }
  if (r.has(4)) attrs["steps"] = r.need_ints(4, "steps");
  std::vector<ValueId> inputs = {r.in(0), kNoValue, kNoValue};
  for (std::size_t i : {1, 2}) {
    if (r.constant(r.in(i)))
      attrs[i == 1 ? "starts" : "ends"] = r.need_ints(i, "starts or ends");
    else
      inputs[i] = r.in(i);
  }
  while (inputs.back() == kNoValue) inputs.pop_back();
  r.result(r.emit("slice", inputs, attrs));
}

void read_shape(Reader& r, const ReadRow&) {
  ValueId y = shape_of(r, r.in(0));
  if (!r.find("start") && !r.find("end")) return r.result(y);
  constexpr std::int64_t kEnd = std::int64_t{1} << 31;
  r.result(r.emit(
      "slice", {y},
      {{"axes", Ints{0}}, {"starts", Ints{r.integer("start", 0)}}, {"ends", Ints{r.integer("end", kEnd)}}}));
}

void read_size(Reader& r, const ReadRow&) {
  r.result(r.emit("reduce_prod", {shape_of(r, r.in(0))}, {{"all", true}}));
}

void read_constant_of_shape(Reader& r, const ReadRow&) {
  Attrs attrs;
  if (const AttributeProto* value = r.find("value")) {
    const Tensor tensor = r.read_tensor(*value);
    if (tensor.size() != 1) fail("value has {} elements, expected one", tensor.size());
    attrs["dtype"] = std::string(octet::name_of(tensor.dtype()));
    attrs["value"] = tensor.cast(DType::kFloat64).data<double>()[0];
  }
  r.result(r.emit("full", {r.in(0)}, attrs));
}

void read_constant(Reader& r, const ReadRow&) {
  if (const AttributeProto* value = r.find("value")) return r.result(r.add(r.read_tensor(*value)));
  if (r.find("value_float"))
    return r.result(r.add(Tensor::scalar(static_cast<float>(r.real("value_float", 0)))));
  if (r.find("value_int")) return r.result(r.add(Tensor::scalar(r.integer("value_int"))));
  if (const auto ints = r.ints("value_ints"))
    return r.result(r.add(Tensor::of<std::int64_t>({static_cast<std::int64_t>(ints->size())}, *ints)));
  if (const auto reals = r.reals("value_floats"))
    return r.result(r.add(Tensor::of<float>({static_cast<std::int64_t>(reals->size())},
                                            std::vector<float>(reals->begin(), reals->end()))));
  fail("it holds neither a tensor nor numbers");
}

template <int Since>
void read_reduce(Reader& r, const ReadRow& row) {
  ValueId x = r.in(0);
  Attrs attrs = {{"keepdims", r.integer("keepdims", 1) != 0}};
  std::vector<ValueId> axes;
  bool none = true;
  if (r.opset() >= Since && r.has(1) && !r.constant(r.in(1))) {
    axes = {r.in(1)};
    none = false;
  } else if (const auto list = r.list(1, "axes"); list && !list->empty()) {
    attrs["axes"] = *list;
    none = false;
  }
  const bool keeps = none && r.integer("noop_with_empty_axes", 0) != 0;
  if (none) attrs["all"] = true;
  auto reduce = [&](const char* op, ValueId of) {
    std::vector<ValueId> inputs = {of};
    inputs.insert(inputs.end(), axes.begin(), axes.end());
    return keeps ? of : r.emit(op, inputs, attrs);
  };
  const std::string_view type = row.type;
  ValueId y = kNoValue;
  if (type == "ReduceL1") {
    y = reduce("reduce_sum", r.emit("abs", {x}));
  } else if (type == "ReduceSumSquare") {
    y = reduce("reduce_sum", r.emit("mul", {x, x}));
  } else if (type == "ReduceL2") {
    y = r.emit("sqrt", {reduce("reduce_sum", r.emit("mul", {x, x}))});
  } else if (type == "ReduceLogSum") {
    y = r.emit("log", {reduce("reduce_sum", x)});
  } else if (type == "ReduceLogSumExp") {
    if (keeps) return r.result(x);
    // Less the largest, so that nothing overflows.
    Attrs kept = attrs;
    kept["keepdims"] = true;
    std::vector<ValueId> inputs = {x};
    inputs.insert(inputs.end(), axes.begin(), axes.end());
    ValueId largest = r.emit("reduce_max", inputs, kept);
    ValueId sum = r.emit("log", {reduce("reduce_sum", r.emit("exp", {r.emit("sub", {x, largest})}))});
    inputs[0] = largest;
    y = r.emit("add", {sum, r.emit("reduce_max", inputs, attrs)});
  } else {
    y = reduce(row.octet.data(), x);
  }
  r.result(y);
}

void read_arg(Reader& r, const ReadRow& row) {
  r.result(r.emit(std::string(row.octet), {r.in(0)},
                  {{"axis", r.integer("axis", 0)},
                   {"keepdims", r.integer("keepdims", 1) != 0},
                   {"last", r.integer("select_last_index", 0) != 0}}));
}

void read_top_k(Reader& r, const ReadRow&) {
  std::vector<ValueId> inputs = {r.in(0)};
  Attrs attrs = {{"axis", r.integer("axis", -1)}, {"largest", r.integer("largest", 1) != 0}};
  if (r.has(1))
    inputs.push_back(r.in(1));
  else
    attrs["k"] = r.integer("k");
  const std::vector<ValueId> made = r.emit_multi("top_k", inputs, attrs, 2);
  r.result(made[0], 0);
  r.result(made[1], 1);
}

// The first inputs as they are, and one attribute of the same name.
void read_with_axis(Reader& r, const ReadRow& row) {
  Attrs attrs;
  if (r.find("axis")) attrs["axis"] = r.integer("axis");
  r.result(r.emit(std::string(row.octet), r.inputs(), attrs));
}

// Indices and depth may be of any type, also floats.
void read_one_hot(Reader& r, const ReadRow&) {
  auto whole = [&](std::size_t i) {
    const DType dtype = r.dtype(r.in(i));
    return dtype == DType::kInt64 || dtype == DType::kInt32 ? r.in(i)
                                                            : r.emit("cast", {r.in(i)}, {{"dtype", "int64"}});
  };
  r.result(r.emit("one_hot", {whole(0), whole(1), r.in(2)}, {{"axis", r.integer("axis", -1)}}));
}

void read_gather_nd(Reader& r, const ReadRow&) {
  r.result(r.emit("gather_nd", {r.in(0), r.in(1)}, {{"batch_dims", r.integer("batch_dims", 0)}}));
}

void read_scatter(Reader& r, const ReadRow& row) {
  Attrs attrs;
  if (r.find("axis")) attrs["axis"] = r.integer("axis");
  if (r.find("reduction")) attrs["reduction"] = r.text("reduction", "none");
  r.result(r.emit(std::string(row.octet), {r.in(0), r.in(1), r.in(2)}, attrs));
}

void read_cum_sum(Reader& r, const ReadRow&) {
  r.result(
      r.emit("cumsum", {r.in(0), r.in(1)},
             {{"exclusive", r.integer("exclusive", 0) != 0}, {"reverse", r.integer("reverse", 0) != 0}}));
}

void read_plain(Reader& r, const ReadRow& row) {
  r.result(r.emit(std::string(row.octet), r.inputs()));
}

// A constant shape is kept as an attribute, where passes see it.
void read_with_list(Reader& r, const ReadRow& row) {
  const char* name = row.octet == "tile" ? "repeats" : "shape";
  if (r.constant(r.in(1)))
    return r.result(r.emit(std::string(row.octet), {r.in(0)}, {{name, r.need_ints(1, name)}}));
  r.result(r.emit(std::string(row.octet), {r.in(0), r.in(1)}));
}

void read_depth_to_space(Reader& r, const ReadRow& row) {
  const std::string mode = r.text("mode", "DCR");
  if (mode != "DCR" && mode != "CRD") fail("mode is {}, expected DCR or CRD", mode);
  r.result(r.emit(
      std::string(row.octet), {r.in(0)},
      {{"block", r.integer("blocksize")}, {"order", mode == "DCR" ? "depth_first" : "channel_first"}}));
}

}  // namespace

std::vector<ReadRow> shape_rows() {
  return {
      {"Reshape", 5, "reshape", read_reshape},
      {"Flatten", 1, "flatten", read_flatten},
      {"Squeeze", 1, "squeeze", read_squeeze},
      {"Unsqueeze", 1, "unsqueeze", read_unsqueeze},
      {"Transpose", 1, "transpose", read_transpose},
      {"Concat", 4, "concat", read_concat},
      {"Split", 2, "split", read_split},
      {"Slice", 1, "slice", read_slice, "with constant axes and steps"},
      {"Expand", 8, "expand", read_with_list},
      {"Tile", 6, "tile", read_with_list},
      {"Shape", 1, "shape", read_shape},
      {"Size", 1, "", read_size},
      {"Constant", 1, "", read_constant, "no texts, no sparse tensors"},
      {"ConstantOfShape", 9, "full", read_constant_of_shape},
      {"Range", 11, "range", read_plain},
      {"Gather", 1, "gather", read_with_axis},
      {"GatherElements", 11, "gather_elements", read_with_axis},
      {"GatherND", 11, "gather_nd", read_gather_nd},
      {"Scatter", 9, "scatter_elements", read_scatter},
      {"ScatterElements", 11, "scatter_elements", read_scatter},
      {"ScatterND", 11, "scatter_nd", read_scatter},
      {"OneHot", 9, "one_hot", read_one_hot},
      {"ReduceMean", 1, "reduce_mean", read_reduce<18>},
      {"ReduceSum", 1, "reduce_sum", read_reduce<13>},
      {"ReduceMax", 1, "reduce_max", read_reduce<18>},
      {"ReduceMin", 1, "reduce_min", read_reduce<18>},
      {"ReduceProd", 1, "reduce_prod", read_reduce<18>},
      {"ReduceL1", 1, "", read_reduce<18>},
      {"ReduceL2", 1, "", read_reduce<18>},
      {"ReduceSumSquare", 1, "", read_reduce<18>},
      {"ReduceLogSum", 1, "", read_reduce<18>},
      {"ReduceLogSumExp", 1, "", read_reduce<18>},
      {"ArgMax", 1, "arg_max", read_arg},
      {"ArgMin", 1, "arg_min", read_arg},
      {"TopK", 1, "top_k", read_top_k},
      {"CumSum", 11, "cumsum", read_cum_sum},
      {"DepthToSpace", 1, "depth_to_space", read_depth_to_space},
      {"SpaceToDepth", 1, "space_to_depth", read_depth_to_space},
  };
}

}  // namespace octet::onnx
