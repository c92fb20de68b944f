#include "formats/paddle3/op_map.h"

#include <algorithm>
#include <unordered_map>

#include "base/error.h"

namespace octet::paddle3 {

using paddle::AttrDesc;
using paddle::AttrType;

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

using Index = std::unordered_map<std::string_view, const OpMap*>;

Index first_by(std::string_view OpMap::*column) {
  Index index;
  for (const OpMap& row : rows()) index.emplace(row.*column, &row);
  return index;
}

// The older files have numbers for element types.
decltype(AttrDesc::value) value_of(const Attr& attr, Tag tag) {
  if (tag != Tag::kDType)
    return std::visit([](const auto& value) -> decltype(AttrDesc::value) { return value; }, attr.value);
  const auto* text = std::get_if<std::string_view>(&attr.value);
  DType dtype;
  if (!text) fail("attribute {} is no text", attr.name);
  if (text->starts_with("Undefined")) return {};  // as the input
  if (!parse_dtype(*text, &dtype))
    fail("attribute {} is data type {}, which octet does not have", attr.name, *text);
  return std::int64_t{paddle::code_of(dtype)};
}

void read_ints(const Operand& operand, const Definitions& values, Id id, OldOps& old) {
  OpDesc& op = old.ops.front();
  if (auto constant = values.ints(id)) return set_attr(op, operand.attr, std::move(*constant));
  std::optional<std::vector<Id>> items = values.stacked(id);
  if (!items) items = values.list(id);
  // A list of one vector says what the vector does.
  if (items && items->size() == 1 && values.type(items->front()).dims.size() == 1 &&
      values.type(items->front()).dims.front() != 1) {
    id = items->front();
    items.reset();
    if (auto constant = values.ints(id)) return set_attr(op, operand.attr, std::move(*constant));
  }
  if (items && !operand.items.empty()) {
    for (const Id item : *items) slot(op, operand.items).push_back(old.name(item));
  } else if (!operand.slot.empty()) {
    slot(op, operand.slot).push_back(old.name(id));
  } else {
    fail("its {} is computed in the run", operand.attr);
  }
}

void read_operand(const Operand& operand, const Definitions& values, Id id, OldOps& old) {
  OpDesc& op = old.ops.front();
  if (id == kAbsent) return;
  switch (operand.kind) {
    case Operand::Kind::kTensor:
      if (!operand.slot.empty()) slot(op, operand.slot).push_back(old.name(id));
      return;
    case Operand::Kind::kList: {
      const auto items = values.list(id);
      if (!items) fail("input {} is no list that octet knows", operand.slot);
      for (const Id item : *items) slot(op, operand.slot).push_back(old.name(item));
      return;
    }
    case Operand::Kind::kInts:
      return read_ints(operand, values, id, old);
    case Operand::Kind::kNumber:
      // A whole number is one attribute, a real one another.
      if (auto whole = values.ints(id);
          whole && whole->size() == 1 && !operand.has_dtype_of_x && operand.dtype != DType::kFloat32)
        set_attr(op, operand.attr, whole->front());
      else if (auto constant = values.number(id))
        set_attr(op, operand.attr, *constant);
      else if (!operand.slot.empty())
        slot(op, operand.slot).push_back(old.name(id));
      else
        fail("its {} is computed in the run", operand.attr);
  }
}

}  // namespace

std::string_view OldOps::name(Id id) {
  return names.emplace_back(fmt::format("%{}", id));
}

std::string_view OldOps::inner(Id id, std::string_view word, Type type) {
  const std::string_view name = names.emplace_back(fmt::format("%{}.{}", id, word));
  inner_types[name] = std::move(type);
  return name;
}

void set_attr(OpDesc& op, std::string_view name, decltype(AttrDesc::value) value) {
  for (AttrDesc& attr : op.attrs) {
    if (attr.name != name) continue;
    attr.value = std::move(value);
    return;
  }
  op.attrs.push_back({name, AttrType::kInt, std::move(value)});
}

std::vector<std::string_view>& slot(OpDesc& op, std::string_view name) {
  for (paddle::Slot& slot : op.inputs)
    if (slot.name == name) return slot.arguments;
  return op.inputs.emplace_back(paddle::Slot{name, {}}).arguments;
}

std::vector<Id> take_apart(const Definitions& values, const Result& list, OldOps& old) {
  const std::vector<std::size_t> takers = values.takers(list.id);
  if (takers.empty() || list.type.items == 0) fail("its list of results is not taken apart");
  std::vector<Id> parts(list.type.items, kAbsent);
  const auto take = [&](std::size_t index, Id part) {
    if (part == kAbsent) return;
    if (parts[index] == kAbsent)
      parts[index] = part;
    else
      old.same[part] = parts[index];
  };
  for (const std::size_t position : takers) {
    const Op& taker = values.op(position);
    if (taker.name == "0.slice") {
      const std::optional<std::size_t> index = item_index(taker, parts.size());
      if (!index) fail("its list has no such item as is taken");
      take(*index, taker.outputs[0].id);
    } else if (taker.outputs.size() == parts.size()) {
      for (std::size_t i = 0; i < parts.size(); ++i) take(i, taker.outputs[i].id);
    } else {
      fail("{} of its {} results are taken", taker.outputs.size(), parts.size());
    }
  }
  return parts;
}

const OpMap* row_to_read(std::string_view name) {
  static const Index index = first_by(&OpMap::name);
  if (!name.starts_with("1.")) return nullptr;
  const auto it = index.find(name.substr(2));
  return it == index.end() ? nullptr : it->second;
}

const OpMap* row_to_write(std::string_view type) {
  static const Index index = first_by(&OpMap::old);
  const auto it = index.find(type);
  return it == index.end() ? nullptr : it->second;
}

OldOps read_op(const OpMap& row, const Definitions& values, const Op& op) {
  OldOps old;
  old.ops.push_back({.type = row.old, .inputs = {}, .outputs = {}, .attrs = {}, .bytes = {}});
  if (op.inputs.size() != row.inputs.size())
    fail("it has {} inputs, expected {}", op.inputs.size(), row.inputs.size());
  if (op.outputs.empty()) fail("it has no outputs");
  for (std::size_t i = 0; i < op.inputs.size(); ++i) read_operand(row.inputs[i], values, op.inputs[i], old);
  for (const AttrMap& map : row.attrs) {
    const Attr* attr = map.old.empty() ? nullptr : op.find_attr(map.name);
    if (!attr) continue;
    auto value = value_of(*attr, map.tag);
    if (!std::holds_alternative<std::monostate>(value)) set_attr(old.ops.front(), map.old, std::move(value));
  }
  for (std::size_t i = 0; i < op.outputs.size(); ++i) {
    const Output output = i < row.outputs.size() ? row.outputs[i] : Output();
    const Id id = op.outputs[i].id;
    if (!output.slot.empty())
      old.ops.front().outputs.push_back({output.slot, {old.name(id)}});
    else if (values.is_used(id) && output.same_as != 0 && op.inputs[output.same_as] != kAbsent)
      old.same[id] = op.inputs[output.same_as];
    else if (values.is_used(id) && !output.is_list)
      fail("its output {} is used", i);
  }
  if (row.read) row.read(values, op, old);
  return old;
}

}  // namespace octet::paddle3
