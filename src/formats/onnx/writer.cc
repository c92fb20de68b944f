#include "formats/onnx/writer.h"

#include <algorithm>

#include "base/file.h"
#include "formats/onnx/source.h"
#include "formats/protobuf.h"

namespace octet::onnx {

using protozero::pbf_writer;

namespace {

void write_attr(pbf_writer& node, const std::string& name, const WrittenAttr& attr) {
  pbf_writer out(node, 5);
  out.add_string(1, name);
  auto type = [&](AttributeType value) { out.add_enum(20, static_cast<int>(value)); };
  if (const auto* integer = std::get_if<std::int64_t>(&attr)) {
    out.add_int64(3, *integer);
    type(AttributeType::kInt);
  } else if (const auto* real = std::get_if<double>(&attr)) {
    out.add_float(2, static_cast<float>(*real));
    type(AttributeType::kFloat);
  } else if (const auto* text = std::get_if<std::string>(&attr)) {
    out.add_bytes(4, *text);
    type(AttributeType::kString);
  } else if (const auto* ints = std::get_if<Ints>(&attr)) {
    for (std::int64_t value : *ints) out.add_int64(8, value);
    type(AttributeType::kInts);
  } else {
    const Tensor& tensor = std::get<Tensor>(attr);
    out.add_message(5, write_tensor({"", tensor, element_type(tensor.dtype())}));
    type(AttributeType::kTensor);
  }
}

// What inference leaves as it is has no known rank.
std::vector<bool> infer_ranks(Graph& graph) {
  const Shape none(16, kUnknown);
  std::vector<Shape> declared;
  for (const Value& value : graph.values) declared.push_back(value.shape);
  std::vector<bool> made(graph.values.size(), false), ranked(graph.values.size(), true);
  for (const Node& node : graph.nodes)
    for (ValueId id : node.outputs)
      if (id != kNoValue) {
        made[static_cast<std::size_t>(id)] = true;
        graph.value(id).shape = none;
      }
  try {
    infer_shapes(graph);
  } catch (const Error&) {
    // Its own shapes contradict each other; a run with other ones may still do.
  }
  for (std::size_t i = 0; i < ranked.size(); ++i) {
    if (!made[i] || graph.values[i].shape != none) continue;
    graph.values[i].shape = declared[i];
    ranked[i] = !declared[i].empty();
  }
  return ranked;
}

}  // namespace

Writer::Writer(const Graph& graph, std::int64_t opset, Target target)
    : graph_(graph),
      opset_(opset),
      target_(target),
      source_(dynamic_cast<const OnnxSource*>(graph.source.get())) {
  ranked_ = infer_ranks(graph_);
  names_.resize(graph_.values.size());
  integers_.resize(graph_.values.size());
  makers_.resize(graph_.values.size(), nullptr);
  for (const Node& node : graph_.nodes)
    for (ValueId id : node.outputs)
      if (id != kNoValue) makers_[static_cast<std::size_t>(id)] = &node;
  readers_.resize(graph_.values.size());
  for (const Node& node : graph_.nodes)
    for (ValueId id : node.inputs)
      if (id != kNoValue) readers_[static_cast<std::size_t>(id)].push_back(&node);
  absorbed_ = absorbed_nodes(*this);
  least_ = least_values(*this);
  for (auto& [id, tensor] : guarded_weights(*this)) graph_.value(id).constant = std::move(tensor);
  // Users know these by their names, so they come first.
  for (const auto* list : {&graph_.inputs, &graph_.outputs})
    for (ValueId id : *list) name_of(id);
}

std::string Writer::name_of(ValueId id) {
  if (id == kNoValue) return "";
  std::string& name = names_[static_cast<std::size_t>(id)];
  if (name.empty()) {
    const Value& value = graph_.value(id);
    std::string base = value.name.empty() ? "value" : value.name;
    name = base;
    for (int i = 1; !taken_.insert(name).second; ++i) name = fmt::format("{}.{}", base, i);
  }
  if (const Value& value = graph_.value(id); value.is_constant() && written_constants_.insert(id).second)
    initializers_.push_back({name, value.constant, element_type(value.dtype)});
  return name;
}

std::string Writer::in(std::size_t i) {
  return i < node().inputs.size() ? name_of(node().inputs[i]) : "";
}

std::string Writer::in(std::string_view slot) {
  return name_of(input_of(node(), slot));
}

std::string Writer::out(std::size_t i) {
  return i < node().outputs.size() ? name_of(node().outputs[i]) : "";
}

std::size_t Writer::rank(std::size_t i) const {
  const ValueId id = node().inputs.at(i);
  if (!has_rank(id)) fail("the number of dimensions of {} is not known", graph_.value(id).name);
  return graph_.value(id).shape.size();
}

std::string Writer::emit(const std::string& type, std::vector<std::string> inputs, WrittenAttrs attrs) {
  std::string name = fmt::format("{}.{}", base_, type);
  for (int i = 1; !taken_.insert(name).second; ++i) name = fmt::format("{}.{}.{}", base_, type, i);
  emit_to(type, std::move(inputs), {name}, attrs);
  return name;
}

void Writer::emit_to(const std::string& type, std::vector<std::string> inputs,
                     std::vector<std::string> outputs, const WrittenAttrs& attrs, std::string_view domain) {
  while (!inputs.empty() && inputs.back().empty()) inputs.pop_back();
  while (!outputs.empty() && outputs.back().empty()) outputs.pop_back();
  std::string bytes;
  pbf_writer out(bytes);
  for (const std::string& input : inputs) out.add_string(1, input);
  for (const std::string& output : outputs) out.add_string(2, output);
  out.add_string(3, outputs.empty() ? type : outputs[0]);
  out.add_string(4, type);
  for (const auto& [name, attr] : attrs) write_attr(out, name, attr);
  if (!domain.empty()) out.add_string(7, domain);
  nodes_.push_back(std::move(bytes));
}

std::string Writer::constant(Tensor tensor, std::optional<ElementType> type) {
  std::string name = base_ + ".constant";
  for (int i = 1; !taken_.insert(name).second; ++i) name = fmt::format("{}.constant.{}", base_, i);
  const ElementType stored = type.value_or(element_type(tensor.dtype()));
  initializers_.push_back({name, std::move(tensor), stored});
  return name;
}

ElementType Writer::type_of(const std::string& constant) const {
  for (const Initializer& initializer : initializers_)
    if (initializer.name == constant) return initializer.type;
  return ElementType::kNone;
}

const Node* Writer::absorbed_by(const Node& node) const {
  for (const auto& [part, whole] : absorbed_)
    if (whole == &node) return part;
  return nullptr;
}

std::string Writer::number(double value, DType dtype) {
  return constant(Tensor::scalar(value).cast(dtype));
}

std::string Writer::list(const Ints& values) {
  return constant(Tensor::of<std::int64_t>({static_cast<std::int64_t>(values.size())}, values));
}

std::string Writer::as_int64(std::size_t i) {
  const Value& list = value(i);
  if (list.is_constant()) return this->list(to_int64s(list.constant.aligned()));
  std::string name = in(i);
  if (list.dtype != DType::kInt64)
    name = emit("Cast", {name}, {{"to", static_cast<std::int64_t>(ElementType::kInt64)}});
  return has_rank(node().inputs[i]) && list.shape.size() == 1 ? name
                                                              : emit("Reshape", {name, this->list({-1})});
}

// A node that octet did not understand goes back as it was; its subgraphs name values of the file.
void Writer::write_foreign() {
  const ForeignNode* foreign = nullptr;
  if (source_ && node().source >= 0 && node().source < static_cast<int>(source_->foreign.size()))
    foreign = &source_->foreign[static_cast<std::size_t>(node().source)];
  if (!foreign) fail("octet can't write this op to ONNX");
  if (source_->opset != opset_)
    fail("octet keeps it as the file has it, of opset {}, and can't write it in opset {}", source_->opset,
         opset_);
  const std::size_t own = node().inputs.size() - foreign->captured.size();
  std::string bytes;
  pbf_writer out(bytes);
  for (std::size_t i = 0; i < own; ++i) out.add_string(1, in(i));
  for (std::size_t i = 0; i < foreign->captured.size(); ++i) {
    const std::string& expected = foreign->captured[i];
    if (in(own + i) == expected) continue;
    if (!taken_.insert(expected).second)
      fail("its subgraph reads \"{}\", which is something else by now", expected);
    emit_to("Identity", {in(own + i)}, {expected});
  }
  for (std::size_t i = 0; i < node().outputs.size(); ++i) out.add_string(2, this->out(i));
  out.add_string(3, foreign->name);
  out.add_string(4, foreign->type);
  for (const std::string& attribute : foreign->attributes) out.add_message(5, attribute);
  if (!foreign->domain.empty()) out.add_string(7, foreign->domain);
  if (!foreign->overload.empty()) out.add_string(8, foreign->overload);
  nodes_.push_back(std::move(bytes));
}

void Writer::write_nodes() {
  for (const Node& node : graph_.nodes) {
    if (absorbed_.contains(&node)) continue;
    node_ = &node;
    base_ = describe(graph_, node);
    for (ValueId id : node.outputs)
      if (id != kNoValue) {
        base_ = name_of(id);
        break;
      }
    try {
      for (const char* slot : {"out_scale", "residual", "gate"})
        if (has(slot)) fail("only a prepared model has it, with {}", slot);
      const OpSpec& spec = spec_of(node);
      if (has_attr(spec, "activation") && !attr<std::string>(node, "activation").empty())
        fail("only a prepared model has it, with an activation function");
      if (const WriteRow* row = find_writer(node.op))
        row->write(*this);
      else
        write_foreign();
    } catch (const Error& error) {
      throw Error(fmt::format("{}: {}", describe(graph_, node), error.what()), error.kind());
    }
  }
}

std::string Writer::value_info(ValueId id) {
  const Value& value = graph_.value(id);
  std::string bytes;
  pbf_writer out(bytes);
  out.add_string(1, name_of(id));
  pbf_writer type(out, 2);
  pbf_writer tensor(type, 1);
  tensor.add_enum(1, static_cast<int>(element_type(value.dtype)));
  if (!has_rank(id)) return (tensor.commit(), type.commit(), bytes);
  std::string
      shape;  // added as a whole: one without dimensions is a scalar's, and protozero drops empty writers
  pbf_writer dims(shape);
  for (std::size_t i = 0; i < value.shape.size(); ++i) {
    pbf_writer dim(dims, 1);
    if (value.shape[i] != kUnknown)
      dim.add_int64(1, value.shape[i]);
    else
      dim.add_string(2, i == 0 ? "N" : fmt::format("{}_{}", names_[static_cast<std::size_t>(id)], i));
  }
  tensor.add_message(2, shape);
  tensor.commit();
  type.commit();
  return bytes;
}

const WriteRow* find_writer(std::string_view octet) {
  static const std::map<std::string_view, WriteRow> table = [] {
    std::map<std::string_view, WriteRow> rows;
    for (auto family : {numeric_writers, shape_writers, sequence_writers, quantization_writers})
      for (const WriteRow& row : family()) rows.emplace(row.octet, row);
    return rows;
  }();
  auto it = table.find(octet);
  return it == table.end() ? nullptr : &it->second;
}

std::string packed_data(const Initializer& initializer) {
  const Tensor& tensor = initializer.tensor;
  if (initializer.type != ElementType::kInt4) return std::string(as_text(tensor.bytes()));
  std::string bytes((static_cast<std::size_t>(tensor.size()) + 1) / 2, '\0');
  for (std::size_t i = 0; std::int8_t value : tensor.data<std::int8_t>()) {
    bytes[i / 2] = static_cast<char>(bytes[i / 2] | ((value & 15) << (i % 2 == 0 ? 0 : 4)));
    ++i;
  }
  return bytes;
}

namespace {

void write_header(pbf_writer& out, const Initializer& initializer) {
  for (std::int64_t dim : initializer.tensor.shape()) out.add_int64(1, dim);
  out.add_int32(2, static_cast<int>(initializer.type));
  if (!initializer.name.empty()) out.add_string(8, initializer.name);
}

}  // namespace

std::string write_tensor(const Initializer& initializer) {
  std::string bytes;
  pbf_writer out(bytes);
  write_header(out, initializer);
  if (initializer.type == ElementType::kInt4)
    out.add_bytes(9, packed_data(initializer));
  else
    out.add_bytes(9, as_text(initializer.tensor.bytes()));
  return bytes;
}

std::string write_external_tensor(const Initializer& initializer, std::string_view location,
                                  std::uint64_t offset, std::uint64_t size) {
  std::string bytes;
  pbf_writer out(bytes);
  write_header(out, initializer);
  auto entry = [&](const char* key, const std::string& value) {
    pbf_writer pair(out, 13);
    pair.add_string(1, key);
    pair.add_string(2, value);
  };
  entry("location", std::string(location));
  entry("offset", std::to_string(offset));
  entry("length", std::to_string(size));
  out.add_enum(14, 1);
  return bytes;
}

}  // namespace octet::onnx
