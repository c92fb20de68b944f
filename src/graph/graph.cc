#include "graph/graph.h"

#include <limits>

#include "graph/op_table.h"

namespace octet {

ValueId Graph::add_value(std::string name, DType dtype, Shape shape) {
  values.push_back({std::move(name), dtype, std::move(shape), {}, {}});
  return static_cast<ValueId>(values.size()) - 1;
}

ValueId Graph::add_constant(std::string name, Tensor tensor) {
  ValueId id = add_value(std::move(name), tensor.dtype(), tensor.shape());
  value(id).constant = std::move(tensor);
  return id;
}

ValueId Graph::find_value(std::string_view name) const {
  for (std::size_t i = 0; i < values.size(); ++i)
    if (values[i].name == name) return static_cast<ValueId>(i);
  return kNoValue;
}

namespace {

const Attr& find_attr(const Node& node, std::string_view name) {
  if (auto it = node.attrs.find(name); it != node.attrs.end()) return it->second;
  if (const OpSpec* spec = find_op(node.op))
    for (const AttrSpec& attr : spec->attrs)
      if (attr.name == name) return attr.default_value;
  throw Error(fmt::format("internal error: op {} has no attribute {}", node.op, name),
              Error::Kind::kInternal);
}

}  // namespace

template <class T>
T attr(const Node& node, std::string_view name) {
  const Attr& value = find_attr(node, name);
  if (const T* held = std::get_if<T>(&value)) return *held;
  throw Error(fmt::format("internal error: attribute {} of op {} is read as another type", name, node.op),
              Error::Kind::kInternal);
}
template bool attr<bool>(const Node&, std::string_view);
template std::int64_t attr<std::int64_t>(const Node&, std::string_view);
template double attr<double>(const Node&, std::string_view);
template std::string attr<std::string>(const Node&, std::string_view);
template std::vector<std::int64_t> attr<std::vector<std::int64_t>>(const Node&, std::string_view);
template std::vector<double> attr<std::vector<double>>(const Node&, std::string_view);
template <>
float attr<float>(const Node& node, std::string_view name) {
  return static_cast<float>(attr<double>(node, name));
}
template <>
int attr<int>(const Node& node, std::string_view name) {
  std::int64_t value = attr<std::int64_t>(node, name);
  if (value < std::numeric_limits<int>::min() || value > std::numeric_limits<int>::max())
    fail("{}: attribute {} is {}, too large", node.op, name, value);
  return static_cast<int>(value);
}

std::string describe(const Graph& graph, const Node& node) {
  for (ValueId id : node.outputs)
    if (id != kNoValue) return fmt::format("{} \"{}\"", node.op, graph.value(id).name);
  return node.op;
}

}  // namespace octet
