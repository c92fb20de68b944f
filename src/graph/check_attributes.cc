#include <algorithm>
#include <cmath>
#include <limits>

#include "graph/op_table.h"

namespace octet {

namespace {

// In the order of Attr's alternatives.
constexpr std::string_view kAttrTypes[] = {"bool", "integer", "number", "text", "integers", "numbers"};

std::string words_of(const std::vector<std::string_view>& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i)
    text += fmt::format("{}\"{}\"", i == 0 ? "" : i + 1 == words.size() ? " or " : ", ", words[i]);
  return text;
}

// The attribute's row; fails when there is none, or it is of another type.
const AttrSpec& find_spec(const OpSpec& spec, std::string_view name, const Attr& value) {
  auto found = std::find_if(spec.attrs.begin(), spec.attrs.end(),
                            [&](const AttrSpec& attr) { return attr.name == name; });
  if (found == spec.attrs.end()) fail("op {} has no attribute {}", spec.name, name);
  if (found->default_value.index() != value.index()) {
    fail("attribute {} is of type {}, expected {}", name, kAttrTypes[value.index()],
         kAttrTypes[found->default_value.index()]);
  }
  return *found;
}

class Check {
 public:
  explicit Check(const AttrSpec& attr) : name_(attr.name), allowed_(attr.allowed) {}

  void operator()(bool) const {}
  void operator()(std::int64_t value) const { number(value); }
  void operator()(double value) const { number(value); }
  void operator()(const std::vector<std::int64_t>& values) const { list(values); }
  void operator()(const std::vector<double>& values) const { list(values); }
  void operator()(const std::string& value) const {
    if (std::find(allowed_.words.begin(), allowed_.words.end(), value) == allowed_.words.end())
      fail("attribute {} is \"{}\", expected {}", name_, value, words_of(allowed_.words));
  }

 private:
  template <class T>
  bool fits(T value) const {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    auto number = static_cast<double>(value);
    bool bounded = allowed_.min != -kInfinity || allowed_.max != kInfinity;
    return !bounded || (number >= allowed_.min && number <= allowed_.max);
  }

  std::string range() const {
    return std::isinf(allowed_.max) ? fmt::format("from {} on", allowed_.min)
                                    : fmt::format("from {} to {}", allowed_.min, allowed_.max);
  }

  template <class T>
  void number(T value) const {
    if (!fits(value)) fail("attribute {} is {}, expected a number {}", name_, value, range());
  }

  template <class T>
  void list(const std::vector<T>& values) const {
    const std::vector<std::size_t>& counts = allowed_.counts;
    if (!counts.empty() && std::find(counts.begin(), counts.end(), values.size()) == counts.end())
      fail("attribute {} has {} numbers, expected {}", name_, values.size(), fmt::join(counts, " or "));
    if (counts.empty() && values.size() > allowed_.max_count)
      fail("attribute {} has {} numbers, expected at most {}", name_, values.size(), allowed_.max_count);
    for (T value : values)
      if (!fits(value)) fail("attribute {} holds {}, expected numbers {}", name_, value, range());
  }

  std::string_view name_;
  const Allowed& allowed_;
};

}  // namespace

void check_attribute_types(const OpSpec& spec, const Node& node) {
  for (const auto& [name, value] : node.attrs) find_spec(spec, name, value);
}

void check_attributes(const OpSpec& spec, const Node& node) {
  for (const auto& [name, value] : node.attrs) std::visit(Check(find_spec(spec, name, value)), value);
}

void check_attributes(const Graph& graph) {
  for (const Node& node : graph.nodes) {
    const OpSpec* spec = find_op(node.op);
    if (!spec) continue;
    try {
      check_slots(*spec, node);
      check_attributes(*spec, node);
      if (spec->check) spec->check(graph, node);
    } catch (const Error& error) {
      fail("{}: {}", describe(graph, node), error.what());
    }
  }
}

}  // namespace octet
