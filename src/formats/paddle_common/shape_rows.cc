#include <charconv>
#include <string>

#include "formats/paddle_common/op_map.h"

// What moves, shapes, reduces or makes tensors.
namespace octet::paddle {

namespace {

using Ints = std::vector<std::int64_t>;

void read_slice(const OpDesc& op, Node& node) {
  node.attrs["starts_items"] = static_cast<std::int64_t>(op.input("StartsTensorList").size());
}

// All items are in StartsTensorList by now; the later ones are ends.
void write_slice(const Graph&, const Node& node, NewOp& op) {
  auto starts = static_cast<std::size_t>(attr<std::int64_t>(node, "starts_items"));
  for (auto& [slot, arguments] : op.inputs) {
    if (slot != "StartsTensorList") continue;
    auto middle = arguments.begin() + static_cast<std::ptrdiff_t>(std::min(starts, arguments.size()));
    std::vector<std::string> ends(middle, arguments.end());
    arguments.erase(middle, arguments.end());
    if (arguments.empty())
      slot = "EndsTensorList", arguments = ends;
    else if (!ends.empty())
      op.inputs.emplace_back("EndsTensorList", ends);
    break;
  }
  // 1: the value is in the attribute, -1: it is in a tensor.
  set_attr(op, "infer_flags", AttrType::kInts,
           Ints(attr<Ints>(node, "axes").size(), node.inputs.size() > 1 ? -1 : 1));
}

// Paddle leaves dimensions of other sizes than 1 where octet may refuse them; where a model runs both are
// the same.
void write_squeeze(const Graph&, const Node&, NewOp&) {}

// Paddle 3's word for the 64-bit one; in older files it is an op and a cast.
void write_shape(const Graph&, const Node& node, NewOp& op) {
  if (attr<std::string>(node, "dtype") == "int64") op.type = "shape64";
}

void read_full(const OpDesc& op, Node& node) {
  node.attrs["dtype"] = dtype_attr(op, "dtype");
  // str_value, where there is one, is exact; value is only a float.
  std::string text(string_attr(op, "str_value", ""));
  if (text.empty()) return;
  char* end = nullptr;
  double value = std::strtod(text.c_str(), &end);
  if (*end) fail("str_value is no number: {}", text);
  node.attrs["value"] = value;
}

void write_full(const Graph&, const Node& node, NewOp& op) {
  set_attr(op, "dtype", AttrType::kInt, dtype_code(node, "dtype"));
  set_attr(op, "str_value", AttrType::kString, fmt::format("{}", attr<double>(node, "value")));
}

void read_cast(const OpDesc& op, Node& node) {
  node.attrs["dtype"] = dtype_attr(op, "out_dtype");
}

void write_cast(const Graph& graph, const Node& node, NewOp& op) {
  set_attr(op, "in_dtype", AttrType::kInt, std::int64_t{code_of(graph.value(node.inputs.at(0)).dtype)});
  set_attr(op, "out_dtype", AttrType::kInt, dtype_code(node, "dtype"));
}

void read_arg_max(const OpDesc& op, Node& node) {
  if (int_attr(op, "dtype", -1) >= 0) node.attrs["dtype"] = dtype_attr(op, "dtype");
}

void write_arg_max(const Graph&, const Node& node, NewOp& op) {
  set_attr(op, "dtype", AttrType::kInt, dtype_code(node, "dtype"));
}

void read_split(const OpDesc& op, Node&) {
  if (!op.input("SectionsTensorList").empty()) fail("its sections are given by tensors");
}

}  // namespace

std::vector<OpMap> shape_rows() {
  // clang-format off
  std::vector<OpMap> rows = {
      {"scale", "scale", {"X", "ScaleTensor"}, {"Out"}, {real("scale"), real("bias"), flag("bias_after_scale")}},
      {"cast", "cast", {"X"}, {"Out"}, {}, {}, read_cast, write_cast},
      {"assign", "identity", {"X"}, {"Out"}},
      {"reshape2", "reshape", {"X", "Shape", "ShapeTensor*"}, {"Out"}, {ints("shape")}, {"XShape"}},
      {"reshape", "reshape", {"X", "Shape", "ShapeTensor*"}, {"Out"}, {ints("shape")}},
      {"flatten_contiguous_range", "flatten", {"X"}, {"Out"}, {integer("start_axis"), integer("stop_axis")}, {"XShape"}},
      {"squeeze2", "squeeze", {"X", "AxesTensor"}, {"Out"}, {ints("axes")}, {"XShape"}, nullptr, write_squeeze},
      {"squeeze", "squeeze", {"X", "AxesTensor"}, {"Out"}, {ints("axes")}},
      {"unsqueeze2", "unsqueeze", {"X", "AxesTensor"}, {"Out"}, {ints("axes")}, {"XShape"}},
      {"unsqueeze", "unsqueeze", {"X", "AxesTensor"}, {"Out"}, {ints("axes")}},
      {"transpose2", "transpose", {"X"}, {"Out"}, {ints("axis", "perm")}, {"XShape"}},
      {"transpose", "transpose", {"X"}, {"Out"}, {ints("axis", "perm")}},
      {"concat", "concat", {"AxisTensor", "X*"}, {"Out"}, {integer("axis")}},
      {"split", "split", {"X", "AxisTensor"}, {"Out*"}, {integer("axis"), integer("num"), ints("sections")}, {}, read_split},
      {"slice", "slice", {"Input", "StartsTensor", "EndsTensor", "StartsTensorList*", "EndsTensorList*"}, {"Out"},
       {ints("axes"), ints("starts"), ints("ends"), ints("decrease_axis", "decrease_axes")}, {}, read_slice, write_slice},
      {"shape", "shape", {"Input"}, {"Out"}, {}, {}, nullptr, write_shape},
      {"fill_constant", "full", {"ShapeTensor", "ValueTensor", "ShapeTensorList*"}, {"Out"},
       {{"shape", "shape", AttrType::kLongs}, real("value")}, {}, read_full, write_full},
      {"arg_max", "arg_max", {"X"}, {"Out"},
       {{"axis", "axis", AttrType::kLong}, flag("keepdims"), flag("flatten")}, {}, read_arg_max, write_arg_max},
  };
  // clang-format on
  for (std::string_view name : {"reduce_mean", "reduce_sum", "reduce_max", "reduce_min"})
    rows.push_back({name,
                    name,
                    {"X"},
                    {"Out"},
                    {ints("dim", "axes"), flag("keep_dim", "keepdims"), flag("reduce_all", "all")}});
  return rows;
}

}  // namespace octet::paddle
