#include "formats/paddle3/branches.h"

#include <algorithm>
#include <array>
#include <optional>
#include <unordered_map>

#include "formats/paddle3/spelling.h"

namespace octet::paddle3 {

namespace {

class Flattener {
 public:
  explicit Flattener(Program& program) : program_(program) {}

  void run() {
    std::vector<Op> ops = std::move(program_.ops);
    program_.ops.clear();
    add_all(ops);
  }

 private:
  void add_all(std::vector<Op>& ops) {
    for (Op& op : ops)
      if (!take_branch(op)) add(std::move(op));
  }

  void add(Op op) {
    if (op.outputs.size() == 1)
      if (const std::optional<double> number = value_of(op)) numbers_[op.outputs[0].id] = *number;
    program_.ops.push_back(std::move(op));
  }

  std::optional<double> number(const Op& op, std::size_t input) const {
    const auto it = input < op.inputs.size() ? numbers_.find(op.inputs[input]) : numbers_.end();
    return it == numbers_.end() ? std::nullopt : std::optional(it->second);
  }

  // The number that an op makes of constants, if it is one of those that conditions are made of.
  std::optional<double> value_of(const Op& op) const {
    if (op.name == "1.full") {
      const Attr *shape = op.find_attr("shape"), *value = op.find_attr("value");
      const auto* dims = shape ? std::get_if<std::vector<std::int64_t>>(&shape->value) : nullptr;
      if (!dims || !value || std::ranges::any_of(*dims, [](std::int64_t dim) { return dim != 1; })) return {};
      if (const auto* real = std::get_if<double>(&value->value)) return *real;
      if (const auto* integer = std::get_if<std::int64_t>(&value->value))
        return static_cast<double>(*integer);
      return {};
    }
    const std::optional<double> a = number(op, 0), b = number(op, 1);
    if (!a) return {};
    if (op.name == "1.logical_not") return *a == 0;
    if (!b) return {};
    struct Comparison {
      std::string_view name;
      bool (*holds)(double, double);
    };
    static constexpr std::array<Comparison, 8> kComparisons = {{
        {"1.equal", [](double x, double y) { return x == y; }},
        {"1.not_equal", [](double x, double y) { return x != y; }},
        {"1.less_than", [](double x, double y) { return x < y; }},
        {"1.less_equal", [](double x, double y) { return x <= y; }},
        {"1.greater_than", [](double x, double y) { return x > y; }},
        {"1.greater_equal", [](double x, double y) { return x >= y; }},
        {"1.logical_and", [](double x, double y) { return x != 0 && y != 0; }},
        {"1.logical_or", [](double x, double y) { return x != 0 || y != 0; }},
    }};
    for (const Comparison& comparison : kComparisons)
      if (comparison.name == op.name) return comparison.holds(*a, *b);
    return {};
  }

  bool take_branch(Op& op) {
    const std::optional<double> condition = number(op, 0);
    if (!condition) return false;
    if (op.name == "1.while") {
      if (*condition != 0 || op.inputs.size() != op.outputs.size() + 1) return false;
      const std::vector<Id> arguments(op.inputs.begin() + 1, op.inputs.end());
      if (!can_assign(op, arguments)) return false;
      assign(op, arguments);
      return true;
    }
    if (op.name != "1.if" || op.blocks.size() != 2) return false;
    std::vector<Op>& block = op.blocks[*condition != 0 ? 0 : 1];
    if (block.empty() || block.back().name != "2.yield") return false;
    const std::vector<Id> results = block.back().inputs;
    if (!can_assign(op, results)) return false;
    block.pop_back();
    add_all(block);
    assign(op, results);
    return true;
  }

  static bool can_assign(const Op& op, const std::vector<Id>& values) {
    return values.size() == op.outputs.size() && std::ranges::count(values, kAbsent) == 0 &&
           std::ranges::all_of(op.outputs, [](const Result& output) {
             return output.type.is_tensor && output.type.has_dtype;
           });
  }

  // What the block gives is what the op gives.
  void assign(const Op& op, const std::vector<Id>& values) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      const Result& output = op.outputs[i];
      const std::string& text = program_.kept.emplace_back(op_text(
          "1.assign", {values[i]}, {}, {{output.id, type_text(output.type.dtype, output.type.dims)}}));
      Op copy;
      copy.name = "1.assign";
      copy.text = text;
      copy.inputs = {values[i]};
      copy.outputs = {output};
      add(std::move(copy));
    }
  }

  Program& program_;
  std::unordered_map<Id, double> numbers_;
};

}  // namespace

void take_constant_branches(Program& program) {
  const auto has_blocks = [](const Op& op) { return !op.blocks.empty(); };
  if (std::ranges::any_of(program.ops, has_blocks)) Flattener(program).run();
}

}  // namespace octet::paddle3
