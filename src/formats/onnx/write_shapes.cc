#include <algorithm>

#include "formats/onnx/writer.h"

// What moves, shapes, reduces or makes tensors.
namespace octet::onnx {

namespace {

template <class T>
T get(const Writer& w, std::string_view name) {
  return attr<T>(w.node(), name);
}

// A list given by one tensor a number, one vector, or an attribute.
std::string list_of(Writer& w, std::size_t vector, std::size_t items, std::string_view attribute) {
  const auto& inputs = w.node().inputs;
  if (inputs.size() > items) {
    std::vector<std::string> parts;
    for (std::size_t i = items; i < inputs.size(); ++i) parts.push_back(w.as_int64(i));
    return w.emit("Concat", parts, {{"axis", std::int64_t{0}}});
  }
  if (vector < inputs.size() && inputs[vector] != kNoValue) return w.as_int64(vector);
  return w.list(get<Ints>(w, attribute));
}

void write_reshape(Writer& w) {
  WrittenAttrs attrs;
  if (!get<bool>(w, "zero_copies") && w.opset() >= 14) attrs = {{"allowzero", std::int64_t{1}}};
  w.emit_to("Reshape", {w.in(0), list_of(w, 1, 2, "shape")}, {w.out()}, attrs);
}

void write_flatten(Writer& w) {
  const auto rank = static_cast<std::int64_t>(w.rank(0));
  auto from_front = [&](std::int64_t axis) { return axis < 0 ? axis + rank : axis; };
  const std::int64_t start = from_front(get<std::int64_t>(w, "start_axis")),
                     stop = from_front(get<std::int64_t>(w, "stop_axis"));
  if (rank == 0) return w.emit_to("Reshape", {w.in(0), w.list({1})}, {w.out()});
  if (start == 1 && stop == rank - 1)
    return w.emit_to("Flatten", {w.in(0)}, {w.out()}, {{"axis", std::int64_t{1}}});
  const Shape& x = w.value(0).shape;
  const bool known =
      std::all_of(x.begin() + stop + 1, x.end(), [](std::int64_t size) { return size != kUnknown; });
  Ints shape(static_cast<std::size_t>(start), 0);
  shape.push_back(-1);
  if (known) {
    shape.insert(shape.end(), x.begin() + stop + 1, x.end());
    return w.emit_to("Reshape", {w.in(0), w.list(shape)}, {w.out()});
  }
  std::string back =
      w.emit("Slice", {w.emit("Shape", {w.in(0)}), w.list({stop + 1}), w.list({rank}), w.list({0})});
  w.emit_to("Reshape", {w.in(0), w.emit("Concat", {w.list(shape), back}, {{"axis", std::int64_t{0}}})},
            {w.out()});
}

void write_squeeze(Writer& w) {
  if (w.has("axes")) return w.emit_to("Squeeze", {w.in(0), w.as_int64(1)}, {w.out()});
  Ints axes = get<Ints>(w, "axes");
  if (axes.empty()) return w.emit_to("Squeeze", {w.in(0)}, {w.out()});
  // octet leaves a named dimension that is not 1 as it is; ONNX fails.
  const Shape& x = w.value(0).shape;
  if (w.has_rank(w.node().inputs[0]))
    std::erase_if(axes, [&](std::int64_t axis) {
      const std::int64_t size =
          x.at(static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(x.size()) : axis));
      return size != 1 && size != kUnknown;
    });
  if (axes.empty()) return w.emit_to("Identity", {w.in(0)}, {w.out()});
  w.emit_to("Squeeze", {w.in(0), w.list(axes)}, {w.out()});
}

// octet inserts one after the other; ONNX counts in the result.
void write_unsqueeze(Writer& w) {
  if (w.has("axes")) return w.emit_to("Unsqueeze", {w.in(0), w.as_int64(1)}, {w.out()});
  std::vector<bool> inserted(w.rank(0), false);
  for (std::int64_t axis : get<Ints>(w, "axes")) {
    if (axis < 0) axis += static_cast<std::int64_t>(inserted.size()) + 1;
    inserted.insert(inserted.begin() + axis, true);
  }
  Ints axes;
  for (std::size_t i = 0; i < inserted.size(); ++i)
    if (inserted[i]) axes.push_back(static_cast<std::int64_t>(i));
  w.emit_to("Unsqueeze", {w.in(0), w.list(axes)}, {w.out()});
}

void write_transpose(Writer& w) {
  WrittenAttrs attrs;
  if (const Ints perm = get<Ints>(w, "perm"); !perm.empty()) attrs = {{"perm", perm}};
  w.emit_to("Transpose", {w.in(0)}, {w.out()}, attrs);
}

std::int64_t constant_axis(Writer& w, std::size_t i) {
  const bool given = i < w.node().inputs.size() && w.node().inputs[i] != kNoValue;
  if (!given) return get<std::int64_t>(w, "axis");
  if (!w.value(i).is_constant()) fail("its axis is computed in the run");
  return to_int64s(w.value(i).constant.aligned()).at(0);
}

void write_concat(Writer& w) {
  std::vector<std::string> parts;
  for (std::size_t i = 1; i < w.node().inputs.size(); ++i) parts.push_back(w.in(i));
  w.emit_to("Concat", parts, {w.out()}, {{"axis", constant_axis(w, 0)}});
}

void write_split(Writer& w) {
  const std::int64_t axis = constant_axis(w, 1);
  WrittenAttrs attrs = {{"axis", axis}};
  std::vector<std::string> inputs = {w.in(0)}, outputs;
  for (std::size_t i = 0; i < w.node().outputs.size(); ++i) outputs.push_back(w.out(i));
  // Split has as many outputs as parts, whoever reads them.
  for (std::size_t i = 0; i < outputs.size(); ++i)
    if (outputs[i].empty()) outputs[i] = fmt::format("{}.unread.{}", outputs.front(), i);
  Ints sections = get<Ints>(w, "sections");
  if (w.has("sections")) {
    inputs.push_back(w.as_int64(2));
  } else if (!sections.empty()) {
    auto open = std::find(sections.begin(), sections.end(), -1);
    if (open != sections.end()) {
      const Shape& x = w.value(0).shape;
      const std::int64_t size =
          x.at(static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(x.size()) : axis));
      if (size == kUnknown) fail("the size of what it splits is not known");
      *open = 0;
      std::int64_t rest = size;
      for (std::int64_t section : sections) rest -= section;
      *open = rest;
    }
    inputs.push_back(w.list(sections));
  } else if (w.opset() >= 18) {
    attrs.emplace_back("num_outputs", static_cast<std::int64_t>(outputs.size()));
  }
  w.emit_to("Split", inputs, outputs, attrs);
}

void write_slice(Writer& w) {
  const Ints axes = get<Ints>(w, "axes"), steps = get<Ints>(w, "steps"),
             dropped = get<Ints>(w, "decrease_axes");
  const auto first = static_cast<std::size_t>(get<std::int64_t>(w, "starts_items"));
  auto bounds = [&](std::size_t vector, std::size_t begin, std::size_t end, std::string_view name) {
    if (begin == end) return list_of(w, vector, w.node().inputs.size(), name);
    std::vector<std::string> parts;
    for (std::size_t i = begin; i < end; ++i) parts.push_back(w.as_int64(i));
    return w.emit("Concat", parts, {{"axis", std::int64_t{0}}});
  };
  const std::size_t items = std::max<std::size_t>(w.node().inputs.size(), 3);
  std::vector<std::string> inputs = {w.in(0), bounds(1, 3, std::min(3 + first, items), "starts"),
                                     bounds(2, std::min(3 + first, items), items, "ends"), w.list(axes)};
  if (!steps.empty()) inputs.push_back(w.list(steps));
  if (dropped.empty()) return w.emit_to("Slice", inputs, {w.out()});
  w.emit_to("Squeeze", {w.emit("Slice", inputs), w.list(dropped)}, {w.out()});
}

void write_shape(Writer& w) {
  if (get<std::string>(w, "dtype") == "int64") return w.emit_to("Shape", {w.in(0)}, {w.out()});
  w.emit_to("Cast", {w.emit("Shape", {w.in(0)})}, {w.out()},
            {{"to", static_cast<std::int64_t>(ElementType::kInt32)}});
}

void write_full(Writer& w) {
  DType dtype = DType::kFloat32;
  parse_dtype(get<std::string>(w, "dtype"), &dtype);
  const std::string shape = list_of(w, 0, 2, "shape");
  if (w.has("value")) {
    std::string value = w.emit("Cast", {w.in(1)}, {{"to", static_cast<std::int64_t>(element_type(dtype))}});
    return w.emit_to("Expand", {w.emit("Reshape", {value, w.list({})}), shape}, {w.out()});
  }
  w.emit_to("ConstantOfShape", {shape}, {w.out()},
            {{"value", Tensor::of<double>({1}, {get<double>(w, "value")}).cast(dtype)}});
}

void write_with_list(Writer& w) {
  const bool tile = w.node().op == "tile";
  w.emit_to(tile ? "Tile" : "Expand", {w.in(0), list_of(w, 1, 2, tile ? "repeats" : "shape")}, {w.out()});
}

void write_reduce(Writer& w) {
  const std::string& op = w.node().op;
  const char* type = op == "reduce_mean"  ? "ReduceMean"
                     : op == "reduce_sum" ? "ReduceSum"
                     : op == "reduce_max" ? "ReduceMax"
                     : op == "reduce_min" ? "ReduceMin"
                                          : "ReduceProd";
  const Ints axes = get<bool>(w, "all") ? Ints() : get<Ints>(w, "axes");
  WrittenAttrs attrs = {{"keepdims", std::int64_t{get<bool>(w, "keepdims")}}};
  const bool as_input = w.opset() >= (op == "reduce_sum" ? 13 : 18);
  if (w.has("axes") && !get<bool>(w, "all")) {
    if (!as_input) fail("its axes are computed in the run, which takes opset 18");
    return w.emit_to(type, {w.in(0), w.as_int64(1)}, {w.out()}, attrs);
  }
  if (axes.empty()) return w.emit_to(type, {w.in(0)}, {w.out()}, attrs);
  if (as_input) return w.emit_to(type, {w.in(0), w.list(axes)}, {w.out()}, attrs);
  attrs.emplace_back("axes", axes);
  w.emit_to(type, {w.in(0)}, {w.out()}, attrs);
}

void write_arg(Writer& w) {
  const bool flat = get<bool>(w, "flatten");
  std::string x = flat ? w.emit("Reshape", {w.in(0), w.list({-1})}) : w.in(0);
  if (flat && get<bool>(w, "keepdims")) fail("ONNX can't keep the dimensions of a flattened tensor");
  WrittenAttrs attrs = {{"axis", flat ? 0 : constant_axis(w, 1)},
                        {"keepdims", std::int64_t{get<bool>(w, "keepdims")}}};
  if (get<bool>(w, "last")) attrs.emplace_back("select_last_index", std::int64_t{1});
  const char* type = w.node().op == "arg_max" ? "ArgMax" : "ArgMin";
  if (get<std::string>(w, "dtype") == "int64") return w.emit_to(type, {x}, {w.out()}, attrs);
  w.emit_to("Cast", {w.emit(type, {x}, attrs)}, {w.out()},
            {{"to", static_cast<std::int64_t>(ElementType::kInt32)}});
}

void write_top_k(Writer& w) {
  std::string k = w.has("k") ? w.as_int64(1) : w.list({get<std::int64_t>(w, "k")});
  w.emit_to("TopK", {w.in(0), k}, {w.out(0), w.out(1)},
            {{"axis", get<std::int64_t>(w, "axis")}, {"largest", std::int64_t{get<bool>(w, "largest")}}});
}

void write_cumsum(Writer& w) {
  std::string axis = w.has("axis") ? w.in(1) : w.constant(Tensor::scalar(get<std::int64_t>(w, "axis")));
  w.emit_to("CumSum", {w.in(0), axis}, {w.out()},
            {{"exclusive", std::int64_t{get<bool>(w, "exclusive")}},
             {"reverse", std::int64_t{get<bool>(w, "reverse")}}});
}

void write_indexing(Writer& w) {
  const std::string& op = w.node().op;
  const char* type = op == "gather"             ? "Gather"
                     : op == "gather_elements"  ? "GatherElements"
                     : op == "gather_nd"        ? "GatherND"
                     : op == "scatter_elements" ? "ScatterElements"
                     : op == "scatter_nd"       ? "ScatterND"
                                                : "OneHot";
  std::vector<std::string> inputs;
  for (std::size_t i = 0; i < w.node().inputs.size(); ++i) inputs.push_back(w.in(i));
  WrittenAttrs attrs;
  const OpSpec& spec = spec_of(w.node());
  if (has_attr(spec, "axis")) attrs.emplace_back("axis", get<std::int64_t>(w, "axis"));
  if (has_attr(spec, "batch_dims")) attrs.emplace_back("batch_dims", get<std::int64_t>(w, "batch_dims"));
  if (has_attr(spec, "reduction")) {
    const std::string how = get<std::string>(w, "reduction");
    if (how != "none" && w.opset() < (how == "add" || how == "mul" ? 16 : 18))
      fail("reduction {} needs a newer opset", how);
    if (how != "none") attrs.emplace_back("reduction", how);
  }
  w.emit_to(type, inputs, {w.out()}, attrs);
}

void write_depth(Writer& w) {
  const bool channels = get<std::string>(w, "order") == "channel_first";
  const bool to_space = w.node().op == "depth_to_space";
  WrittenAttrs attrs = {{"blocksize", get<std::int64_t>(w, "block")}};
  if (to_space) attrs.emplace_back("mode", channels ? "CRD" : "DCR");
  if (!to_space && channels) fail("ONNX's SpaceToDepth has the other order of channels");
  w.emit_to(to_space ? "DepthToSpace" : "SpaceToDepth", {w.in(0)}, {w.out()}, attrs);
}

}  // namespace

std::vector<WriteRow> shape_writers() {
  std::vector<WriteRow> rows = {
      {"reshape", write_reshape},     {"flatten", write_flatten},      {"squeeze", write_squeeze},
      {"unsqueeze", write_unsqueeze}, {"transpose", write_transpose},  {"concat", write_concat},
      {"split", write_split},         {"slice", write_slice},          {"shape", write_shape},
      {"full", write_full},           {"expand", write_with_list},     {"tile", write_with_list},
      {"arg_max", write_arg},         {"arg_min", write_arg},          {"top_k", write_top_k},
      {"cumsum", write_cumsum},       {"depth_to_space", write_depth}, {"space_to_depth", write_depth},
  };
  for (const char* op : {"reduce_mean", "reduce_sum", "reduce_max", "reduce_min", "reduce_prod"})
    rows.push_back({op, write_reduce});
  for (const char* op :
       {"gather", "gather_elements", "gather_nd", "scatter_elements", "scatter_nd", "one_hot"})
    rows.push_back({op, write_indexing});
  return rows;
}

}  // namespace octet::onnx
