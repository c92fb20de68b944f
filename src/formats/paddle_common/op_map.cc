#include "formats/paddle_common/op_map.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "graph/op_table.h"

namespace octet::paddle {

namespace {

const std::vector<OpMap>& rows() {
  static const std::vector<OpMap> all = [] {
    std::vector<OpMap> rows;
    for (auto family : {numeric_rows, shape_rows, quantization_rows}) {
      std::vector<OpMap> part = family();
      rows.insert(rows.end(), part.begin(), part.end());
    }
    return rows;
  }();
  return all;
}

const OpMap* row_to_read(const OpDesc& op) {
  using Index = std::unordered_multimap<std::string_view, const OpMap*>;
  static const Index index = [] {
    Index index;
    for (const OpMap& row : rows()) index.emplace(row.paddle, &row);
    return index;
  }();
  const OpMap* found = nullptr;
  auto [begin, end] = index.equal_range(op.type);
  for (auto it = begin; it != end; ++it)
    if ((!found || it->second < found) && (!it->second->applies || it->second->applies(op)))
      found = it->second;
  return found;
}

const OpMap* row_to_write(std::string_view octet) {
  for (const OpMap& row : rows())
    if (row.octet == octet) return &row;
  return nullptr;
}

// The value in the type that the op table wants, given by its default.
Attr convert(const AttrDesc& from, const Attr& like) {
  auto integer = std::get_if<std::int64_t>(&from.value);
  auto number = std::get_if<double>(&from.value);
  auto text = std::get_if<std::string_view>(&from.value);
  auto integers = std::get_if<std::vector<std::int64_t>>(&from.value);
  auto numbers = std::get_if<std::vector<double>>(&from.value);
  if (std::holds_alternative<bool>(like)) {
    if (integer) return *integer != 0;
  } else if (std::holds_alternative<std::int64_t>(like)) {
    if (integer) return *integer;
    if (integers && integers->size() == 1) return integers->front();
  } else if (std::holds_alternative<double>(like)) {
    if (number) return *number;
    if (integer) return static_cast<double>(*integer);
  } else if (std::holds_alternative<std::string>(like)) {
    if (text) return std::string(*text);
  } else if (std::holds_alternative<std::vector<std::int64_t>>(like)) {
    if (integers) return *integers;
    if (integer) return std::vector<std::int64_t>{*integer};
  } else if (std::holds_alternative<std::vector<double>>(like)) {
    if (numbers) return *numbers;
    if (number) return std::vector<double>{*number};
    if (integers) return std::vector<double>(integers->begin(), integers->end());
  }
  fail("attribute {} has type {}, which octet does not read there", from.name, static_cast<int>(from.type));
}

bool takes_all(std::string_view slot) {
  return slot.back() == '*';
}

bool is_in_outputs(std::string_view slot) {
  return slot.front() == '>';
}

std::string_view slot_name(std::string_view slot) {
  if (is_in_outputs(slot)) slot.remove_prefix(1);
  if (takes_all(slot)) slot.remove_suffix(1);
  return slot;
}

// Calls visit(argument) for each argument in the order of the slots, "" for an absent one.
template <class Visit>
void for_each_argument(const OpDesc& op, const std::vector<std::string_view>& slots, bool outputs,
                       Visit visit) {
  for (std::string_view slot : slots) {
    const auto& arguments =
        outputs || is_in_outputs(slot) ? op.output(slot_name(slot)) : op.input(slot_name(slot));
    if (takes_all(slot)) {
      for (std::string_view argument : arguments) visit(argument);
    } else if (arguments.size() > 1) {
      fail("slot {} has {} arguments, expected one", slot, arguments.size());
    } else {
      visit(arguments.empty() ? std::string_view() : arguments.front());
    }
  }
}

NamedNode interpret(const OpDesc& op, const OpMap& row) {
  NamedNode named;
  named.node.op = row.octet;
  for_each_argument(op, row.inputs, false, [&](std::string_view name) { named.inputs.push_back(name); });
  for_each_argument(op, row.outputs, true, [&](std::string_view name) { named.outputs.push_back(name); });
  while (!named.inputs.empty() && named.inputs.back().empty()) named.inputs.pop_back();
  const OpSpec* spec = find_op(row.octet);
  check(spec != nullptr, "every row of the op map names an op of the op table");
  for (const AttrMap& map : row.attrs) {
    const AttrDesc* desc = op.find_attr(map.paddle);
    if (!desc) continue;
    for (const AttrSpec& attr : spec->attrs)
      if (attr.name == map.octet)
        named.node.attrs[std::string(map.octet)] = convert(*desc, attr.default_value);
  }
  if (row.read) row.read(op, named.node);
  return named;
}

NamedNode leave_uninterpreted(const OpDesc& op, std::string reason) {
  NamedNode named;
  named.node.op = fmt::format("paddle:{}", op.type);
  if (!reason.empty()) named.node.attrs["reason"] = std::move(reason);
  for (const Slot& slot : op.inputs)
    named.inputs.insert(named.inputs.end(), slot.arguments.begin(), slot.arguments.end());
  for (const Slot& slot : op.outputs)
    named.outputs.insert(named.outputs.end(), slot.arguments.begin(), slot.arguments.end());
  return named;
}

std::vector<std::string> names_of(const Graph& graph, std::span<const ValueId> ids) {
  std::vector<std::string> names;
  for (ValueId id : ids) names.push_back(id == kNoValue ? "" : graph.value(id).name);
  return names;
}

// The reverse of for_each_argument.
std::vector<std::pair<std::string, std::vector<std::string>>> fill_slots(
    const std::vector<std::string_view>& slots, const std::vector<std::string>& names) {
  std::vector<std::pair<std::string, std::vector<std::string>>> filled;
  std::size_t next = 0;
  for (std::string_view slot : slots) {
    std::vector<std::string> arguments;
    do {
      if (next < names.size() && !names[next].empty()) arguments.push_back(names[next]);
      ++next;
    } while (takes_all(slot) && next < names.size());
    if (!arguments.empty()) filled.emplace_back(slot_name(slot), std::move(arguments));
  }
  return filled;
}

NewAttr write_attr(const Node& node, const AttrMap& map) {
  NewAttr out{std::string(map.paddle), map.type, std::int64_t{0}};
  switch (map.type) {
    case AttrType::kBoolean:
      out.value = std::int64_t{attr<bool>(node, map.octet)};
      break;
    case AttrType::kInt:
    case AttrType::kLong:
      out.value = attr<std::int64_t>(node, map.octet);
      break;
    case AttrType::kFloat:
      out.value = attr<double>(node, map.octet);
      break;
    case AttrType::kString:
      out.value = attr<std::string>(node, map.octet);
      break;
    case AttrType::kInts:
    case AttrType::kLongs:
      out.value = attr<std::vector<std::int64_t>>(node, map.octet);
      break;
    case AttrType::kFloats:
      out.value = attr<std::vector<double>>(node, map.octet);
      break;
    default:
      check(false, "the op map uses no other attribute type");
  }
  return out;
}

}  // namespace

std::optional<NamedNode> interpret(const OpDesc& op) {
  const OpMap* row = row_to_read(op);
  if (!row) return std::nullopt;
  return interpret(op, *row);
}

Node read_node(const OpDesc& op, const std::function<ValueId(std::string_view)>& use,
               const std::function<ValueId(std::string_view)>& define) {
  NamedNode named;  // names first: a failure on the way must leave nothing defined
  try {
    std::optional<NamedNode> known = interpret(op);
    named = known ? std::move(*known) : leave_uninterpreted(op, "");
  } catch (const Error& error) {
    if (error.kind() == Error::Kind::kInternal) throw;
    named = leave_uninterpreted(op, error.what());
  }
  for (std::string_view name : named.inputs) named.node.inputs.push_back(name.empty() ? kNoValue : use(name));
  for (std::string_view name : named.outputs)
    named.node.outputs.push_back(name.empty() ? kNoValue : define(name));
  return std::move(named.node);
}

namespace {

// What the row has no word for would be lost. Rows with a function of their own see to it themselves.
void need_words(const Graph& graph, const Node& node, const OpMap& row) {
  const bool takes_more = !row.inputs.empty() && takes_all(row.inputs.back());
  for (std::size_t i = row.inputs.size(); i < node.inputs.size() && !takes_more; ++i)
    if (node.inputs[i] != kNoValue)
      fail("{}: Paddle's {} has no {}", describe(graph, node), row.paddle, slot_name(slot_at(node, i)));
  if (row.write) return;
  for (const AttrSpec& spec : spec_of(node).attrs) {
    auto it = node.attrs.find(spec.name);
    if (it == node.attrs.end() || it->second == spec.default_value) continue;
    if (std::ranges::none_of(row.attrs, [&](const AttrMap& map) { return map.octet == spec.name; }))
      fail("{}: Paddle's {} has no {}", describe(graph, node), row.paddle, spec.name);
  }
}

}  // namespace

NewOp write_node(const Graph& graph, const Node& node) {
  const OpMap* row = row_to_write(node.op);
  if (!row) fail("{}: a Paddle file has no way to say this op", describe(graph, node));
  need_words(graph, node, *row);
  NewOp op;
  op.type = row->paddle;
  op.inputs = fill_slots(row->inputs, names_of(graph, node.inputs));
  op.outputs = fill_slots(row->outputs, names_of(graph, node.outputs));
  for (std::string_view slot : row->scratch)
    op.outputs.push_back(
        {std::string(slot), {fmt::format("{}.{}", graph.value(node.outputs.at(0)).name, slot)}});
  for (const AttrMap& map : row->attrs) op.attrs.push_back(write_attr(node, map));
  if (row->write) row->write(graph, node, op);
  return op;
}

std::string written_type(const Graph& graph, const Node& node) {
  const OpMap* row = row_to_write(node.op);
  if (!row) return node.op;
  try {
    return write_node(graph, node).type;  // a row may change it, by the node's attributes
  } catch (const Error&) {
    return std::string(row->paddle);
  }
}

bool has_type(std::string_view type) {
  return type == "rnn" || std::ranges::any_of(rows(), [&](const OpMap& row) { return row.paddle == type; });
}

std::int64_t int_attr(const OpDesc& op, std::string_view name, std::int64_t fallback) {
  const AttrDesc* desc = op.find_attr(name);
  return desc ? std::get<std::int64_t>(convert(*desc, std::int64_t{0})) : fallback;
}

std::string_view string_attr(const OpDesc& op, std::string_view name, std::string_view fallback) {
  const AttrDesc* desc = op.find_attr(name);
  if (!desc) return fallback;
  if (auto text = std::get_if<std::string_view>(&desc->value)) return *text;
  fail("attribute {} is not a string", name);
}

std::vector<std::int64_t> ints_attr(const OpDesc& op, std::string_view name) {
  const AttrDesc* desc = op.find_attr(name);
  if (!desc) return {};
  return std::get<std::vector<std::int64_t>>(convert(*desc, std::vector<std::int64_t>{}));
}

void set_attr(NewOp& op, std::string name, AttrType type, decltype(NewAttr::value) value) {
  for (NewAttr& attr : op.attrs) {
    if (attr.name != name) continue;
    attr.type = type;
    attr.value = std::move(value);
    return;
  }
  op.attrs.push_back({std::move(name), type, std::move(value)});
}

std::string dtype_attr(const OpDesc& op, std::string_view name) {
  std::int64_t code = int_attr(op, name, code_of(DType::kFloat32));
  DType dtype;
  if (code < 0 || code > 100 || !dtype_from_code(static_cast<int>(code), &dtype))
    fail("attribute {} is data type {}, which octet does not have", name, code);
  return std::string(name_of(dtype));
}

std::int64_t dtype_code(const Node& node, std::string_view name) {
  DType dtype;
  std::string text = attr<std::string>(node, name);
  if (!parse_dtype(text, &dtype)) fail("{}: attribute {} is no data type: {}", node.op, name, text);
  return code_of(dtype);
}

}  // namespace octet::paddle
