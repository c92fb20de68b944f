#include "graph/graph.h"
#include "graph/op_table.h"

namespace octet {

namespace {

// Names come from files: what could break the line, or move a terminal's cursor, is written as \xNN.
std::string printable(std::string_view text) {
  std::string out;
  for (char c : text) {
    auto code = static_cast<unsigned char>(c);
    if (code < 0x20 || code == 0x7f)
      out += fmt::format("\\x{:02x}", code);
    else
      out += c;
  }
  return out;
}

std::string name_of_value(const Graph& graph, ValueId id) {
  return id == kNoValue ? "none" : '%' + printable(graph.value(id).name);
}

std::string typed_value(const Graph& graph, ValueId id) {
  if (id == kNoValue) return "none";
  const Value& value = graph.value(id);
  return fmt::format("{}: {} {}", name_of_value(graph, id), name_of(value.dtype), to_string(value.shape));
}

// Most numbers were floats in the file they came from; as floats they are shorter.
std::string number(double value) {
  auto single = static_cast<float>(value);
  return static_cast<double>(single) == value ? fmt::format("{}", single) : fmt::format("{}", value);
}

struct AttrText {
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(std::int64_t value) const { return std::to_string(value); }
  std::string operator()(double value) const { return number(value); }
  std::string operator()(const std::string& value) const { return '"' + printable(value) + '"'; }
  std::string operator()(const std::vector<std::int64_t>& values) const {
    return fmt::format("[{}]", fmt::join(values, ","));
  }
  std::string operator()(const std::vector<double>& values) const {
    std::vector<std::string> texts;
    for (double value : values) texts.push_back(number(value));
    return fmt::format("[{}]", fmt::join(texts, ","));
  }
};

bool is_default(const Node& node, const std::string& name, const Attr& value) {
  if (const OpSpec* spec = find_op(node.op))
    for (const AttrSpec& attr : spec->attrs)
      if (attr.name == name) return attr.default_value == value;
  return false;
}

std::string node_line(const Graph& graph, const Node& node) {
  std::vector<std::string> inputs, outputs, attrs;
  for (ValueId id : node.outputs) outputs.push_back(typed_value(graph, id));
  for (ValueId id : node.inputs) inputs.push_back(name_of_value(graph, id));
  for (const auto& [name, value] : node.attrs)
    if (!is_default(node, name, value))
      attrs.push_back(printable(name) + '=' + std::visit(AttrText(), value));
  std::string line =
      fmt::format("{} = {}({})", fmt::join(outputs, ", "), printable(node.op), fmt::join(inputs, ", "));
  if (!attrs.empty()) line += fmt::format(" {{{}}}", fmt::join(attrs, ", "));
  return line;
}

}  // namespace

std::string dump(const Graph& graph) {
  std::string text = "inputs\n";
  for (ValueId id : graph.inputs) text += "  " + typed_value(graph, id) + '\n';
  text += "outputs\n";
  for (ValueId id : graph.outputs) text += "  " + typed_value(graph, id) + '\n';
  text += "constants\n";
  for (std::size_t i = 0; i < graph.values.size(); ++i) {
    const Value& value = graph.values[i];
    if (!value.is_constant()) continue;
    text += fmt::format("  {}, {} bytes\n", typed_value(graph, static_cast<ValueId>(i)),
                        value.constant.size_bytes());
  }
  text += "nodes\n";
  for (const Node& node : graph.nodes) text += "  " + node_line(graph, node) + '\n';
  return text;
}

}  // namespace octet
