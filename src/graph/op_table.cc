#include "graph/op_table.h"

#include <algorithm>
#include <deque>
#include <unordered_map>

#include "graph/ops/infer.h"
#include "graph/ops/ops.h"
#include "graph/shape_values.h"

namespace octet {

std::span<const OpSpec> op_table() {
  static const std::vector<OpSpec> table = [] {
    std::vector<OpSpec> all;
    for (auto family :
         {ops::convolution, ops::matmul, ops::normalisation, ops::activation, ops::elementwise, ops::logic,
          ops::window, ops::resample, ops::nd, ops::detection, ops::sequence, ops::shape, ops::movement,
          ops::indexing, ops::reduction, ops::quantization, ops::integer}) {
      std::vector<OpSpec> specs = family();
      all.insert(all.end(), specs.begin(), specs.end());
    }
    return all;
  }();
  return table;
}

const OpSpec* find_op(std::string_view name) {
  static const std::unordered_map<std::string_view, const OpSpec*> index = [] {
    std::unordered_map<std::string_view, const OpSpec*> map;
    for (const OpSpec& spec : op_table()) map.emplace(spec.name, &spec);
    return map;
  }();
  auto it = index.find(name);
  return it == index.end() ? nullptr : it->second;
}

namespace {

// Checks one side of a node against its slots. `missing(i)` says that entry i is there but holds no value.
template <class Missing>
void check_side(const std::vector<std::string_view>& slots, std::size_t count, std::string_view what,
                Missing missing) {
  if (count > slots.size() && !is_variadic(slots.back()))
    fail("{} {}s, expected at most {}", count, what, slots.size());
  for (std::size_t i = 0; i < std::max(slots.size(), count); ++i) {
    std::string_view slot = slots[std::min(i, slots.size() - 1)];
    bool cut_off = i >= count;
    if (is_optional(slot) || (is_variadic(slot) && cut_off)) continue;
    if (cut_off || missing(i)) fail("{} {} is missing", what, slot_name(slot));
  }
}

}  // namespace

void check_slots(const OpSpec& spec, const Node& node) {
  check_side(spec.inputs, node.inputs.size(), "input",
             [&](std::size_t i) { return node.inputs[i] == kNoValue; });
  // Nobody needs to name an output that is not used.
  check_side(spec.outputs, node.outputs.size(), "output", [](std::size_t) { return false; });
}

void infer_node(const Graph& graph, const Node& node, std::span<const ValueInfo* const> inputs,
                std::span<ValueInfo> outputs) {
  const OpSpec* spec = find_op(node.op);
  if (!spec) {
    fail(
        "{}: op {} is not known to octet; `octet info MODEL` lists the ops of a model, docs/ops.md those of "
        "octet",
        describe(graph, node), node.op);
  }
  check(inputs.size() == node.inputs.size() && outputs.size() == node.outputs.size(),
        "infer_node needs one ValueInfo for each input and output");
  try {
    check_slots(*spec, node);
    check_attributes(*spec, node);
    if (spec->check) spec->check(graph, node);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      check((inputs[i] == nullptr) == (node.inputs[i] == kNoValue), "an absent input has no ValueInfo");
      if (inputs[i]) ops::check_shape(inputs[i]->shape, "an input");
    }
    spec->infer(node, inputs, outputs);
    for (const ValueInfo& output : outputs) ops::check_shape(output.shape, "the output");
  } catch (const Error& error) {
    throw Error(fmt::format("{}: {}", describe(graph, node), error.what()), error.kind());
  }
}

namespace {

Shape without_negatives(Shape shape) {
  for (std::int64_t& dim : shape) dim = std::max(dim, kUnknown);
  return shape;
}

// The elements of a constant that could take part in the computation of a shape.
std::optional<ops::MaybeInts> constant_elements(const ValueInfo& info) {
  constexpr std::int64_t kMaxElements = 64;
  bool integers = info.dtype == DType::kInt32 || info.dtype == DType::kInt64;
  if (!info.data || !integers || info.shape.size() > 1 || info.data->size() > kMaxElements)
    return std::nullopt;
  return ops::ints_of(info, "a constant");
}

}  // namespace

namespace {

bool is_small(const Shape& shape) {
  constexpr std::int64_t kMaxElements = 1 << 14;
  std::int64_t size = ops::product(shape);
  return size != kUnknown && size <= kMaxElements;
}

// What a node makes of inputs that are known; nothing when they are not, or it is large. Images that do not
// lie as their shape says are left to the run.
std::optional<Tensor> evaluated(const Graph& graph, const Node& node,
                                std::span<const ValueInfo* const> inputs, const ValueInfo& output,
                                const EvaluateNode& evaluate) {
  if (!evaluate || !is_small(output.shape)) return std::nullopt;
  std::vector<const Tensor*> tensors;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] && (!inputs[i]->data || !is_small(inputs[i]->shape))) return std::nullopt;
    if (inputs[i] && graph.value(node.inputs[i]).layout != Layout::kPlain) return std::nullopt;
    tensors.push_back(inputs[i] ? inputs[i]->data : nullptr);
  }
  if (graph.value(node.outputs[0]).layout != Layout::kPlain) return std::nullopt;
  Tensor result(output.dtype, output.shape);
  try {
    if (!evaluate(node, tensors, &result)) return std::nullopt;
  } catch (const Error& error) {
    throw Error(fmt::format("{}: {}", describe(graph, node), error.what()), error.kind());
  }
  return result;
}

}  // namespace

InferredValues infer_values(const Graph& graph, std::vector<ValueInfo> infos) {
  return infer_values(graph, std::move(infos), nullptr);
}

InferredValues infer_values(const Graph& graph, std::vector<ValueInfo> infos, const EvaluateNode& evaluate) {
  check(infos.size() == graph.values.size(), "infer_values needs one ValueInfo for each value");
  InferredValues result;
  std::vector<std::optional<ops::MaybeInts>> elements;
  for (const ValueInfo& info : infos) elements.push_back(constant_elements(info));
  auto at = [](ValueId id) { return static_cast<std::size_t>(id); };

  std::vector<const ValueInfo*> inputs;
  std::vector<const ops::MaybeInts*> values;
  std::vector<ValueInfo> outputs;
  for (const Node& node : graph.nodes) {
    if (!find_op(node.op)) continue;
    inputs.clear();
    values.clear();
    outputs.clear();
    for (ValueId id : node.inputs) {
      inputs.push_back(id == kNoValue ? nullptr : &infos[at(id)]);
      values.push_back(id == kNoValue || !elements[at(id)] ? nullptr : &*elements[at(id)]);
    }
    for (ValueId id : node.outputs) outputs.push_back(id == kNoValue ? ValueInfo{} : infos[at(id)]);
    infer_node(graph, node, inputs, outputs);
    for (std::size_t i = 0; i < outputs.size(); ++i)
      if (node.outputs[i] != kNoValue) infos[at(node.outputs[i])] = outputs[i];
    if (outputs.size() != 1 || node.outputs[0] == kNoValue) continue;
    std::size_t made = at(node.outputs[0]);
    elements[made] = shape_values(node, inputs, values, outputs[0]);
    std::optional<Tensor> tensor = elements[made] ? known_tensor(*elements[made], outputs[0]) : std::nullopt;
    if (!tensor) tensor = evaluated(graph, node, inputs, outputs[0], evaluate);
    if (!tensor) continue;
    result.tensors.push_back(std::move(*tensor));
    infos[made].data = &result.tensors.back();
    if (!elements[made]) elements[made] = constant_elements(infos[made]);
  }
  result.infos = std::move(infos);
  return result;
}

namespace {

std::vector<ValueInfo> declared_infos(const Graph& graph) {
  std::vector<ValueInfo> infos;
  infos.reserve(graph.values.size());
  for (const Value& value : graph.values)
    infos.push_back(
        {value.dtype, without_negatives(value.shape), value.is_constant() ? &value.constant : nullptr});
  return infos;
}

}  // namespace

void check_graph(Graph& graph) {
  verify(graph);
  check_attributes(graph);
  std::vector<ValueInfo> infos = declared_infos(graph);
  for (ValueId id : graph.inputs)
    for (std::int64_t& dim : infos[static_cast<std::size_t>(id)].shape) dim = kUnknown;
  const InferredValues inferred = infer_values(graph, std::move(infos));
  for (const Node& node : graph.nodes) {
    if (!find_op(node.op)) continue;
    for (ValueId id : node.outputs) {
      if (id == kNoValue) continue;
      const ValueInfo& info = inferred.infos[static_cast<std::size_t>(id)];
      Value& value = graph.value(id);
      if (value.shape.size() != info.shape.size()) value.shape = info.shape;
      value.dtype = info.dtype;
    }
  }
}

void infer_shapes(Graph& graph) {
  std::vector<ValueInfo> infos = declared_infos(graph);
  for (ValueId id : graph.inputs) {
    Shape& shape = infos[static_cast<std::size_t>(id)].shape;
    if (!shape.empty()) shape[0] = kUnknown;
  }
  InferredValues inferred = infer_values(graph, std::move(infos));
  for (const Node& node : graph.nodes) {
    if (!find_op(node.op)) continue;
    for (ValueId id : node.outputs) {
      if (id == kNoValue) continue;
      graph.value(id).dtype = inferred.infos[static_cast<std::size_t>(id)].dtype;
      graph.value(id).shape = inferred.infos[static_cast<std::size_t>(id)].shape;
    }
  }
}

}  // namespace octet
