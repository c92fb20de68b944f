#include "formats/onnx/importer.h"

#include <algorithm>

#include "graph/shape_values.h"
#include "kernels/ref/ref.h"

namespace octet::onnx {

namespace {

constexpr int kMaxDepth = 32;  // of branches in branches, and of functions that call functions

// A rank that no value has: what inference leaves as it was filled in is not known.
const Shape& no_shape() {
  static const Shape shape(ops::kMaxRank, kUnknown);
  return shape;
}

std::string foreign_op(const NodeProto& node) {
  return node.domain.empty() ? fmt::format("onnx:{}", node.type)
                             : fmt::format("onnx:{}.{}", node.domain, node.type);
}

std::string first_output(const NodeProto& node) {
  for (std::string_view name : node.outputs)
    if (!name.empty()) return std::string(name);
  return std::string(node.name.empty() ? node.type : node.name);
}

// The names that a graph takes from the outside, those of the graphs in it included.
void find_captured(const GraphProto& graph, int depth, std::vector<std::string_view>& names) {
  if (depth > kMaxDepth) fail("it has graphs in graphs, more than {} deep", kMaxDepth);
  std::unordered_set<std::string_view> own;
  for (const ValueProto& input : graph.inputs) own.insert(input.name);
  for (const TensorProto& tensor : graph.initializers) own.insert(tensor.name);
  auto use = [&](std::string_view name) {
    if (!name.empty() && !own.contains(name)) names.push_back(name);
  };
  for (const NodeProto& node : graph.nodes) {
    for (std::string_view name : node.inputs) use(name);
    for (const AttributeProto& attribute : node.attributes) {
      if (!attribute.graph.data()) continue;
      std::vector<std::string_view> inner;
      find_captured(parse_graph(attribute.graph), depth + 1, inner);
      for (std::string_view name : inner) use(name);
    }
    own.insert(node.outputs.begin(), node.outputs.end());
  }
  for (const ValueProto& output : graph.outputs) use(output.name);
}

// The nodes in an order in which they can run. Files should have them so, and some tools' don't.
std::vector<const NodeProto*> in_order(const std::vector<NodeProto>& nodes) {
  std::unordered_map<std::string_view, std::size_t> makers;
  for (std::size_t i = 0; i < nodes.size(); ++i)
    for (std::string_view name : nodes[i].outputs)
      if (!name.empty()) makers.emplace(name, i);
  std::vector<const NodeProto*> order;
  std::vector<char> state(nodes.size(), 0);  // 0: not looked at, 1: waits for what it needs, 2: placed
  std::vector<std::size_t> waiting;
  for (std::size_t first = 0; first < nodes.size(); ++first) {
    waiting.push_back(first);
    while (!waiting.empty()) {
      const std::size_t i = waiting.back();
      if (state[i] == 2) {
        waiting.pop_back();
        continue;
      }
      state[i] = 1;
      const std::size_t before = waiting.size();
      auto need = [&](std::string_view name) {
        auto it = makers.find(name);
        if (it != makers.end() && it->second != i && state[it->second] == 0) waiting.push_back(it->second);
      };
      for (std::string_view name : nodes[i].inputs) need(name);
      for (const AttributeProto& attribute : nodes[i].attributes) {
        if (!attribute.graph.data() || first < i) continue;
        std::vector<std::string_view> captured;
        find_captured(parse_graph(attribute.graph), 0, captured);
        for (std::string_view name : captured) need(name);
      }
      if (waiting.size() > before) continue;
      state[i] = 2;
      order.push_back(&nodes[i]);
      waiting.pop_back();
    }
  }
  return order;
}

}  // namespace

ValueId Importer::Scope::find(std::string_view name) const {
  for (const Scope* scope = this; scope; scope = scope->outer)
    if (auto it = scope->values.find(name); it != scope->values.end()) return it->second;
  return kNoValue;
}

std::string Importer::unique(std::string name) {
  if (names_.insert(name).second) return name;
  for (int i = 1;; ++i)
    if (std::string other = fmt::format("{}.{}", name, i); names_.insert(other).second) return other;
}

ValueId Importer::add_value(std::string name) {
  known_.emplace_back();
  return graph_.add_value(std::move(name));
}

ValueId Importer::add_constant(std::string name, Tensor tensor) {
  // Inference reads what axes, sizes and the like are, and a file may have numbers at any place.
  constexpr std::int64_t kSmall = 4096;
  if (tensor.size() <= kSmall) tensor = tensor.aligned();
  known_.push_back({.has_rank = true, .elements = {}, .tensor = nullptr});
  ValueId id = graph_.add_constant(std::move(name), std::move(tensor));
  const Value& value = graph_.value(id);
  constexpr std::int64_t kMaxElements = 64;
  if ((value.dtype == DType::kInt32 || value.dtype == DType::kInt64) && value.shape.size() <= 1 &&
      value.constant.size() <= kMaxElements) {
    ValueInfo info{value.dtype, value.shape, &value.constant};
    known(id).elements = ops::ints_of(info, "a constant");
  }
  return id;
}

// Fills the outputs; false when too little is known of the inputs.
bool Importer::infer(const Node& node, std::vector<ValueInfo>& outputs) const {
  std::vector<ValueInfo> infos(node.inputs.size());
  std::vector<const ValueInfo*> pointers(node.inputs.size(), nullptr);
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    ValueId id = node.inputs[i];
    if (id == kNoValue) continue;
    if (!known(id).has_rank) return false;
    infos[i] = {graph_.value(id).dtype, graph_.value(id).shape, elements_of(id, false)};
    pointers[i] = &infos[i];
  }
  infer_node(graph_, node, pointers, outputs);
  return true;
}

const Tensor* Importer::elements_of(ValueId id, bool constants_only) const {
  const Value& value = graph_.value(id);
  if (value.is_constant()) return &value.constant;
  return constants_only ? nullptr : known(id).tensor;
}

// The node's outputs, if all of its inputs are known, it is cheap, and they have no more than `limit`
// elements.
bool Importer::compute(const Node& node, const std::vector<ValueInfo>& infos, std::int64_t limit,
                       bool constants_only, std::vector<Tensor>& results) const {
  const OpSpec& spec = spec_of(node);
  if (spec.kind == OpKind::kConvolution || spec.kind == OpKind::kMatmul || spec.kind == OpKind::kQuantization)
    return false;
  std::vector<Tensor> aligned(node.inputs.size());
  std::vector<const Tensor*> inputs;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const Tensor* input = node.inputs[i] == kNoValue ? nullptr : elements_of(node.inputs[i], constants_only);
    if (!input && node.inputs[i] != kNoValue) return false;
    if (input) aligned[i] = input->aligned();
    inputs.push_back(input ? &aligned[i] : nullptr);
  }
  std::int64_t elements = 0;
  for (const ValueInfo& info : infos) {
    if (info.shape == no_shape() || !is_known(info.shape)) return false;
    elements += element_count(info.shape);
    if (elements > limit) return false;
  }
  for (const ValueInfo& info : infos) results.emplace_back(info.dtype, info.shape);
  try {
    return ref::evaluate(node, inputs, results);
  } catch (const Error&) {
    return false;  // the run will say why
  }
}

std::vector<ValueId> Importer::emit(const std::string& op, std::vector<ValueId> inputs, Attrs attrs,
                                    std::size_t outputs) {
  constexpr std::int64_t kSmall = 1024;
  Node node{.op = op, .inputs = std::move(inputs), .outputs = {}, .attrs = std::move(attrs)};
  node.outputs.assign(outputs, kNoValue);
  std::vector<ValueInfo> infos(outputs, ValueInfo{DType::kFloat32, no_shape(), nullptr});
  const OpSpec* spec = find_op(op);
  if (!spec) fail("octet has no op {}", op);
  check_slots(*spec, node);
  check_attributes(*spec, node);
  const bool inferred = infer(node, infos);
  // What a small file may blow itself up to.
  const std::size_t budget = (std::size_t{64} << 20) + 4 * source_.file->bytes().size();
  const auto limit = static_cast<std::int64_t>((budget - std::min(budget, made_bytes_)) / 8);
  std::vector<Tensor> results;
  std::vector<ValueId> ids;
  if (inferred && compute(node, infos, limit, true, results)) {
    for (Tensor& result : results) {
      made_bytes_ += result.size_bytes();
      ids.push_back(add_constant(unique(fmt::format("{}.{}", base_name_, op)), std::move(result)));
    }
    return ids;
  }
  results.clear();
  const bool is_small = inferred && compute(node, infos, kSmall, false, results);
  for (std::size_t i = 0; i < outputs; ++i) {
    ValueId id = add_value(unique(fmt::format("{}.{}", base_name_, op)));
    node.outputs[i] = id;
    ids.push_back(id);
    if (!inferred) continue;
    graph_.value(id).dtype = infos[i].dtype;
    if (infos[i].shape == no_shape()) continue;
    known(id).has_rank = true;
    graph_.value(id).shape = infos[i].shape;
    if (is_small) {
      tensors_.push_back(results[i]);
      known(id).tensor = &tensors_.back();
    }
  }
  if (inferred && outputs == 1 && known(ids[0]).has_rank) {
    std::vector<ValueInfo> given(node.inputs.size());
    std::vector<const ValueInfo*> pointers(node.inputs.size(), nullptr);
    std::vector<const ops::MaybeInts*> values(node.inputs.size(), nullptr);
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      ValueId id = node.inputs[i];
      if (id == kNoValue) continue;
      given[i] = {graph_.value(id).dtype, graph_.value(id).shape, elements_of(id, false)};
      pointers[i] = &given[i];
      if (known(id).elements) values[i] = &*known(id).elements;
    }
    known(ids[0]).elements = shape_values(node, pointers, values, infos[0]);
    if (known(ids[0]).elements && !known(ids[0]).tensor)
      if (auto tensor = known_tensor(*known(ids[0]).elements, infos[0])) {
        tensors_.push_back(std::move(*tensor));
        known(ids[0]).tensor = &tensors_.back();
      }
  }
  graph_.nodes.push_back(std::move(node));
  return ids;
}

void Importer::declare(ValueId id, const ValueProto& value) {
  DType dtype = DType::kFloat32;
  if (graph_dtype(value.type, &dtype)) graph_.value(id).dtype = dtype;
  if (!value.has_shape || value.shape.size() > ops::kMaxRank) return;
  graph_.value(id).shape = value.shape;
  known(id).has_rank = true;
}

void Importer::add_initializers(const GraphProto& graph, Scope& scope) {
  if (graph.has_sparse) fail("it has sparse initializers, which octet does not read");
  for (const TensorProto& tensor : graph.initializers) {
    if (tensor.name.empty()) fail("an initializer has no name");
    if (scope.values.contains(tensor.name)) fail("\"{}\" is defined twice", tensor.name);
    scope.values[tensor.name] = add_constant(unique(std::string(tensor.name)), source_.tensors->read(tensor));
  }
}

// Older files list initializers among the inputs, too: defaults, which nobody gives another value.
void Importer::add_inputs(const GraphProto& graph, Scope& scope) {
  for (const ValueProto& input : graph.inputs) {
    if (scope.values.contains(input.name)) continue;
    DType dtype = DType::kFloat32;
    if (input.name.empty()) fail("an input has no name");
    if (input.kind != "tensor") fail("input {} is a {}; octet takes tensors", input.name, input.kind);
    if (!graph_dtype(input.type, &dtype))
      fail("input {} is {}, which octet does not hold", input.name, name_of(input.type));
    ValueId id = add_value(unique(std::string(input.name)));
    declare(id, input);
    graph_.value(id).dtype = dtype;
    auto given = options_.input_shapes.find(std::string(input.name));
    if (given == options_.input_shapes.end() && graph_.inputs.empty()) given = options_.input_shapes.find("");
    if (given != options_.input_shapes.end()) {
      source_.as_declared = source_.as_declared && graph_.value(id).shape == given->second;
      graph_.value(id).shape = given->second;
      known(id).has_rank = true;
    }
    scope.values[input.name] = id;
    graph_.inputs.push_back(id);
  }
}

std::vector<AttributeProto> Importer::bound_attributes(const NodeProto& node, const Scope& scope) const {
  std::vector<AttributeProto> bound;
  for (const AttributeProto& attribute : node.attributes) {
    if (attribute.reference.empty()) {
      bound.push_back(attribute);
      continue;
    }
    const AttributeProto* given = nullptr;
    for (const AttributeProto& argument : scope.arguments)
      if (argument.name == attribute.reference) given = &argument;
    if (!given && scope.function)
      for (const AttributeProto& argument : scope.function->defaults)
        if (argument.name == attribute.reference) given = &argument;
    if (!given) continue;  // an optional one that the caller left out
    bound.push_back(*given);
    bound.back().name = attribute.name;
  }
  return bound;
}

void Importer::define(std::string_view name, ValueId id, Scope& scope) {
  if (name.empty()) return;
  if (!scope.values.emplace(name, id).second) fail("\"{}\" is defined twice", name);
}

bool Importer::inline_branch(const NodeProto& node, Scope& scope, int depth) {
  ValueId condition = node.inputs.empty() ? kNoValue : scope.find(node.inputs[0]);
  if (condition == kNoValue) return false;
  const Tensor* tensor = elements_of(condition, false);
  if (!tensor || tensor->dtype() != DType::kBool || tensor->size() != 1) return false;
  const AttributeProto* branch = node.find(tensor->data<bool>()[0] ? "then_branch" : "else_branch");
  if (!branch || !branch->graph.data()) return false;
  // Views of the file, so the parsed form may go.
  const GraphProto graph = parse_graph(branch->graph);
  Scope inner{.outer = &scope,
              .opset = scope.opset,
              .opsets = scope.opsets,
              .arguments = scope.arguments,
              .function = scope.function};
  add_initializers(graph, inner);
  read_nodes(graph.nodes, inner, depth + 1);
  if (graph.outputs.size() < node.outputs.size())
    fail("a branch of {} has too few outputs", first_output(node));
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    ValueId id = inner.find(graph.outputs[i].name);
    if (id == kNoValue)
      fail("a branch of {} does not make its output {}", first_output(node), graph.outputs[i].name);
    define(node.outputs[i], id, scope);
  }
  return true;
}

bool Importer::call_function(const NodeProto& node, Scope& scope, std::span<const AttributeProto> attributes,
                             int depth) {
  const FunctionProto* function = nullptr;
  for (const FunctionProto& candidate : source_.model.functions)
    if (candidate.domain == node.domain && candidate.name == node.type && candidate.overload == node.overload)
      function = &candidate;
  if (!function) return false;
  auto opset = function->opsets.find("");
  Scope inner{.outer = nullptr,
              .opset = opset == function->opsets.end() ? scope.opset : opset->second,
              .opsets = &function->opsets,
              .arguments = attributes,
              .function = function};
  for (std::size_t i = 0; i < function->inputs.size(); ++i) {
    const bool absent = i >= node.inputs.size() || node.inputs[i].empty();
    ValueId id = absent ? kNoValue : scope.find(node.inputs[i]);
    if (!absent && id == kNoValue)
      fail("{}: \"{}\" is used before anything defines it", node.type, node.inputs[i]);
    inner.values[function->inputs[i]] = id;
  }
  read_nodes(function->nodes, inner, depth + 1);
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    if (i >= function->outputs.size())
      fail("function {} has {} outputs", node.type, function->outputs.size());
    ValueId id = inner.find(function->outputs[i]);
    if (id == kNoValue && !node.outputs[i].empty())
      fail("function {} does not make its output {}", node.type, function->outputs[i]);
    define(node.outputs[i], id, scope);
  }
  return true;
}

void Importer::keep_foreign(const NodeProto& node, Scope& scope, std::span<const AttributeProto> attributes,
                            std::vector<ValueId> inputs, const std::string& reason) {
  ForeignNode foreign{node.name, node.type, node.domain, node.overload, {}, {}};
  for (const AttributeProto& attribute : attributes) {
    foreign.attributes.emplace_back(attribute.bytes);
    if (!attribute.graph.data()) continue;
    std::vector<std::string_view> captured;
    find_captured(parse_graph(attribute.graph), 0, captured);
    for (std::string_view name : captured) {
      ValueId id = scope.find(name);
      if (id == kNoValue ||
          std::find(foreign.captured.begin(), foreign.captured.end(), name) != foreign.captured.end())
        continue;
      foreign.captured.emplace_back(name);
      inputs.push_back(id);
    }
  }
  Node kept{
      .op = foreign_op(node), .inputs = std::move(inputs), .outputs = {}, .attrs = {{"reason", reason}}};
  kept.source = static_cast<int>(source_.foreign.size());
  source_.foreign.push_back(std::move(foreign));
  for (std::string_view name : node.outputs) {
    ValueId id = kNoValue;
    if (!name.empty()) {
      id = add_value(unique(std::string(name)));
      if (auto it = declared_.find(name); it != declared_.end()) declare(id, *it->second);
    }
    kept.outputs.push_back(id);
  }
  for (std::size_t i = 0; i < node.outputs.size(); ++i) define(node.outputs[i], kept.outputs[i], scope);
  graph_.nodes.push_back(std::move(kept));
}

void Importer::read_with_row(const NodeProto& node, Scope& scope, std::span<const AttributeProto> attributes,
                             std::vector<ValueId> inputs) {
  const ReadRow* row = node.domain.empty() ? find_row(node.type) : nullptr;
  std::string reason;
  if (!row) {
    reason = node.domain.empty()
                 ? fmt::format("octet has no op for ONNX's {}", node.type)
                 : fmt::format("it is of domain {}, of which octet knows no ops", node.domain);
  } else if (scope.opset < row->since) {
    reason = fmt::format("the model's opset is {}, and octet reads {} from opset {} on", scope.opset,
                         node.type, row->since);
  } else {
    const std::size_t values = graph_.values.size(), nodes = graph_.nodes.size();
    std::vector<ValueId> made;
    try {
      Reader reader(*this, node, scope.opset, attributes, inputs);
      row->read(reader, *row);
      made = reader.results();
      for (std::size_t i = 0; i < node.outputs.size(); ++i)
        if (!node.outputs[i].empty() && (i >= made.size() || made[i] == kNoValue))
          fail("octet does not make its output {} ({})", i, node.outputs[i]);
    } catch (const Error& error) {
      if (error.kind() == Error::Kind::kInternal) throw;
      reason = error.what();
      for (std::size_t i = values; i < graph_.values.size(); ++i) names_.erase(graph_.values[i].name);
      graph_.values.resize(values);
      known_.resize(values);
      graph_.nodes.resize(nodes);
    }
    if (reason.empty()) {
      for (std::size_t i = 0; i < node.outputs.size(); ++i) {
        std::string_view name = node.outputs[i];
        if (name.empty()) continue;
        // What this node made is called as the file calls it; others have their name already.
        if (static_cast<std::size_t>(made[i]) >= values &&
            std::find(made.begin(), made.begin() + static_cast<std::ptrdiff_t>(i), made[i]) ==
                made.begin() + static_cast<std::ptrdiff_t>(i)) {
          names_.erase(graph_.value(made[i]).name);
          graph_.value(made[i]).name = unique(std::string(name));
        }
        define(name, made[i], scope);
      }
      return;
    }
  }
  keep_foreign(node, scope, attributes, std::move(inputs), reason);
}

void Importer::read_node(const NodeProto& node, Scope& scope, int depth) {
  if (nodes_left_-- == 0)
    fail("its functions and branches unfold to more nodes than a file of its size may have");
  base_name_ = first_output(node);
  if (node.type == "If" && node.domain.empty() && inline_branch(node, scope, depth)) return;
  const std::vector<AttributeProto> attributes = bound_attributes(node, scope);
  if (call_function(node, scope, attributes, depth)) return;
  std::vector<ValueId> inputs;
  for (std::string_view name : node.inputs) {
    bool is_optional_argument = false;
    if (scope.function)
      if (auto it = scope.values.find(name); it != scope.values.end() && it->second == kNoValue)
        is_optional_argument = true;
    ValueId id = name.empty() ? kNoValue : scope.find(name);
    if (id == kNoValue && !name.empty() && !is_optional_argument)
      fail("{} \"{}\": \"{}\" is used before anything defines it", node.type, first_output(node), name);
    inputs.push_back(id);
  }
  read_with_row(node, scope, attributes, std::move(inputs));
}

void Importer::read_nodes(const std::vector<NodeProto>& nodes, Scope& scope, int depth) {
  if (depth > kMaxDepth) fail("it has graphs or functions in each other, more than {} deep", kMaxDepth);
  for (const NodeProto* node : in_order(nodes)) read_node(*node, scope, depth);
}

// A graph's outputs have the names that users know, also where they hand on what has another name.
void Importer::set_outputs(const GraphProto& graph, Scope& scope) {
  for (const ValueProto& output : graph.outputs) {
    ValueId id = scope.find(output.name);
    if (id == kNoValue) fail("nothing makes the output {}", output.name);
    const bool is_input = std::find(graph_.inputs.begin(), graph_.inputs.end(), id) != graph_.inputs.end();
    if (graph_.value(id).name != output.name || is_input || graph_.value(id).is_constant()) {
      Node copy{.op = "identity", .inputs = {id}, .outputs = {}, .attrs = {}};
      std::string name(output.name);
      if (graph_.value(id).name == name && !is_input) {  // a constant, which may be called otherwise
        names_.erase(name);
        graph_.value(id).name = unique(name + ".constant");
      }
      ValueId made = add_value(unique(name));
      graph_.value(made).dtype = graph_.value(id).dtype;
      graph_.value(made).shape = graph_.value(id).shape;
      copy.outputs = {made};
      graph_.nodes.push_back(std::move(copy));
      id = made;
    }
    graph_.outputs.push_back(id);
  }
  if (graph_.outputs.empty()) fail("it has no outputs");
}

Graph Importer::run() {
  const GraphProto& graph = source_.model.graph;
  for (const auto* list : {&graph.values, &graph.outputs})
    for (const ValueProto& value : *list) declared_.emplace(value.name, &value);
  constexpr std::size_t kSpare = 10'000;
  std::size_t nodes = graph.nodes.size();
  for (const FunctionProto& function : source_.model.functions) nodes += function.nodes.size();
  nodes_left_ = kSpare + 16 * nodes;
  Scope scope{.outer = nullptr, .opset = source_.opset, .opsets = &source_.model.opsets};
  add_initializers(graph, scope);
  add_inputs(graph, scope);
  read_nodes(graph.nodes, scope, 0);
  set_outputs(graph, scope);
  verify(graph_);
  return std::move(graph_);
}

}  // namespace octet::onnx
