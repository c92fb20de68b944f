#include "formats/paddle3/definitions.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace octet::paddle3 {

namespace {

constexpr std::int64_t kMaxFilled = 64;  // a constant that says more numbers is a tensor

std::optional<std::int64_t> whole(double value) {
  constexpr double kLimit = 9007199254740992.0;  // up to there a double has every integer
  if (!(std::fabs(value) <= kLimit)) return std::nullopt;
  const auto integer = static_cast<std::int64_t>(value);
  if (static_cast<double>(integer) != value) return std::nullopt;
  return integer;
}

}  // namespace

Definitions::Definitions(const Program& program) : program_(program) {
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    const Op& op = program.ops[i];
    for (std::size_t j = 0; j < op.outputs.size(); ++j)
      if (op.outputs[j].id != kAbsent && !places_.emplace(op.outputs[j].id, Place{i, j}).second)
        fail("value {} is defined twice", op.outputs[j].id);
    for (const auto* ids : {&op.inputs, &op.captured}) {
      budget_ += ids->size();
      for (const Id id : *ids) ++uses_[id];
    }
    if ((op.name == "0.split" || op.name == "0.slice") && op.inputs.size() == 1 && !op.outputs.empty())
      takers_[op.inputs[0]].push_back(i);
    for (const Attr& attr : op.attrs)
      if (const auto* integers = std::get_if<std::vector<std::int64_t>>(&attr.value))
        budget_ += integers->size();
  }
  budget_ = 16 * budget_ + 4096;
}

const Op* Definitions::maker(Id id) const {
  const auto it = places_.find(id);
  return it == places_.end() ? nullptr : &program_.ops[it->second.op];
}

std::size_t Definitions::position(Id id) const {
  return places_.at(id).op;
}

const Type& Definitions::type(Id id) const {
  static const Type kNothing;
  const auto it = places_.find(id);
  return it == places_.end() ? kNothing : program_.ops[it->second.op].outputs[it->second.output].type;
}

bool Definitions::is_used(Id id) const {
  return uses_.contains(id);
}

std::vector<std::size_t> Definitions::takers(Id list) const {
  const auto it = takers_.find(list);
  if (it == takers_.end() || it->second.size() != uses_.at(list)) return {};
  return it->second;
}

const Op& Definitions::op(std::size_t position) const {
  return program_.ops[position];
}

bool Definitions::is_made_by(Id id, std::string_view name) const {
  const Op* op = maker(id);
  return op && op->name == name;
}

bool Definitions::is_parameter(Id id) const {
  const Op* op = maker(id);
  return op && op->name == "p" && op->is_persistable;
}

std::optional<std::vector<std::int64_t>> Definitions::ints(Id id) const {
  const Op* op = maker(id);
  if (!op) return std::nullopt;
  std::vector<std::int64_t> result;
  if (op->name == "1.full_int_array" || op->name == "1.assign_value_" || op->name == "1.assign_value") {
    const Attr* values = op->find_attr(op->name == "1.full_int_array" ? "value" : "values");
    if (!values) return std::nullopt;
    if (const auto* integers = std::get_if<std::vector<std::int64_t>>(&values->value)) {
      spend(integers->size());
      return *integers;
    }
    const auto* reals = std::get_if<std::vector<double>>(&values->value);
    if (!reals) return std::nullopt;
    spend(reals->size());
    for (const double real : *reals) {
      const std::optional<std::int64_t> integer = whole(real);
      if (!integer) return std::nullopt;
      result.push_back(*integer);
    }
    return result;
  }
  if (op->name != "1.full") return std::nullopt;
  const Attr *shape = op->find_attr("shape"), *value = op->find_attr("value");
  const auto* dims = shape ? std::get_if<std::vector<std::int64_t>>(&shape->value) : nullptr;
  if (!dims || dims->size() > 1 || !value) return std::nullopt;
  const std::int64_t count = dims->empty() ? 1 : dims->front();
  std::optional<std::int64_t> integer;
  if (const auto* real = std::get_if<double>(&value->value)) integer = whole(*real);
  if (const auto* number = std::get_if<std::int64_t>(&value->value)) integer = *number;
  if (!integer || count < 0 || count > kMaxFilled) return std::nullopt;
  return std::vector<std::int64_t>(static_cast<std::size_t>(count), *integer);
}

std::optional<double> Definitions::number(Id id) const {
  const Op* op = maker(id);
  if (!op || op->name != "1.full") return std::nullopt;
  const Attr *shape = op->find_attr("shape"), *value = op->find_attr("value");
  const auto* dims = shape ? std::get_if<std::vector<std::int64_t>>(&shape->value) : nullptr;
  if (!dims || !value || std::ranges::any_of(*dims, [](std::int64_t dim) { return dim != 1; }))
    return std::nullopt;
  if (const auto* real = std::get_if<double>(&value->value)) return *real;
  if (const auto* integer = std::get_if<std::int64_t>(&value->value)) return static_cast<double>(*integer);
  return std::nullopt;
}

std::optional<std::vector<Id>> Definitions::list(Id id) const {
  const Op* op = maker(id);
  if (!op || op->name != "0.combine") return std::nullopt;
  spend(op->inputs.size());
  return op->inputs;
}

std::optional<std::vector<Id>> Definitions::stacked(Id id) const {
  const Op* op = maker(id);
  if (!op || op->name != "1.stack" || op->inputs.size() != 1) return std::nullopt;
  const Attr* axis = op->find_attr("axis");
  const auto* integer = axis ? std::get_if<std::int64_t>(&axis->value) : nullptr;
  if (!integer || *integer != 0) return std::nullopt;
  std::optional<std::vector<Id>> items = list(op->inputs[0]);
  // Each is one number: a stack of vectors is a matrix.
  const auto is_number = [&](Id item) {
    const Type& of_item = type(item);
    return of_item.is_tensor && (of_item.dims.empty() || of_item.dims == Shape{1});
  };
  if (items && !std::ranges::all_of(*items, is_number)) return std::nullopt;
  return items;
}

std::optional<std::size_t> item_index(const Op& op, std::size_t items) {
  const Attr* attr = op.find_attr("index");
  const auto* index = attr ? std::get_if<std::int64_t>(&attr->value) : nullptr;
  if (!index || *index < 0 || static_cast<std::size_t>(*index) >= items) return std::nullopt;
  return static_cast<std::size_t>(*index);
}

void Definitions::spend(std::size_t count) const {
  if (count > budget_) fail("it uses long lists too often; it is damaged");
  budget_ -= count;
}

}  // namespace octet::paddle3
