#include "formats/paddle3/writer.h"

#include <algorithm>

#include "base/error.h"
#include "formats/paddle_common/op_map.h"
#include "graph/op_table.h"

namespace octet::paddle3 {

namespace {

const paddle::NewAttr* find_attr(const NewOp& op, std::string_view name) {
  for (const paddle::NewAttr& attr : op.attrs)
    if (attr.name == name) return &attr;
  return nullptr;
}

double as_real(const decltype(paddle::NewAttr::value)& value) {
  const auto* integer = std::get_if<std::int64_t>(&value);
  return integer ? static_cast<double>(*integer) : std::get<double>(value);
}

Tag narrow(Tag tag) {
  return tag == Tag::kFloat64    ? Tag::kFloat32
         : tag == Tag::kFloat64s ? Tag::kFloat32s
         : tag == Tag::kInt64s   ? Tag::kInt32s
                                 : tag;
}

// The value of an older attribute as this tag wants it.
NewValue converted(const decltype(paddle::NewAttr::value)& value, Tag tag) {
  if (tag == Tag::kDType) {
    DType dtype = DType::kFloat32;
    check(paddle::dtype_from_code(static_cast<int>(std::get<std::int64_t>(value)), &dtype),
          "an older op that octet writes has a data type");
    return std::string(name_of(dtype));
  }
  if (tag == Tag::kFloat32 || tag == Tag::kFloat64) return as_real(value);
  return value;
}

}  // namespace

ProgramWriter::ProgramWriter(const Graph& graph, const paddle::Changes& changes, const Paddle3Source* source)
    : graph_(graph), changes_(changes), source_(source) {
  infer_shapes(graph_);  // dimensions must be right here: Paddle's passes believe them
  for (const Value& value : graph_.values)
    if (!values_.emplace(value.name, &value).second && !value.name.empty())
      fail("two values are named {}; a Paddle file needs different names", value.name);
  for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
    for (const ValueId id : graph_.nodes[i].outputs) makers_.emplace(id, i);
    for (const ValueId id : graph_.nodes[i].inputs) readers_[id].push_back(i);
  }
  if (!source_) return;
  version_ = source_->program.version;
  ids_ = source_->ids;
  next_ = source_->largest_id + 1;
}

const Value& ProgramWriter::value(std::string_view name) const {
  const auto it = values_.find(name);
  check(it != values_.end(), "what an op reads or writes is a value of the graph");
  return *it->second;
}

const std::string& ProgramWriter::argument(const Names& slots, std::string_view slot) {
  static const std::string kNone;
  for (const auto& [name, arguments] : slots)
    if (name == slot && !arguments.empty()) return arguments.front();
  return kNone;
}

Id ProgramWriter::input(const NewOp& op, std::string_view slot) {
  const std::string& name = argument(op.inputs, slot);
  return name.empty() ? kAbsent : id(name);
}

const Value& ProgramWriter::value_in(const NewOp& op, std::string_view slot) const {
  return value(argument(op.inputs, slot));
}

const Value& ProgramWriter::value_out(const NewOp& op, std::string_view slot) const {
  return value(argument(op.outputs, slot));
}

// The number of a value. A parameter is declared when it is used first.
Id ProgramWriter::id(const std::string& name) {
  const auto [it, is_new] = ids_.try_emplace(name, next_);
  if (is_new) ++next_;
  const Id id = it->second;
  const auto found = values_.find(name);
  if (found == values_.end() || !found->second->is_constant() || written_.contains(id)) return id;
  const Value& constant = *found->second;
  const bool is_as_read = source_ && changes_.is_as_read(constant);
  if (is_as_read && changes_.original_param(name)->record.empty()) {  // an op says what it is
    need_original(id);
    return id;
  }
  written_.insert(id);
  constants_.emplace(name, &constant);
  parameters_.push_back(is_as_read ? std::string(source_->program.ops[source_->makers.at(id)].text)
                                   : parameter_text(name, id, constant.dtype, constant.shape));
  return id;
}

void ProgramWriter::emit(std::string_view name, const std::vector<Id>& inputs,
                         const std::vector<NewAttr>& attrs, const std::vector<NewResult>& outputs) {
  ops_.push_back(op_text(name, inputs, attrs, outputs));
  for (const NewResult& output : outputs) written_.insert(output.id);
}

Id ProgramWriter::op(std::string_view name, const std::vector<Id>& inputs, const std::vector<NewAttr>& attrs,
                     DType dtype, const Shape& dims, Id out) {
  if (out == kAbsent) out = fresh();
  emit(name, inputs, attrs, {{out, type_text(dtype, dims)}});
  return out;
}

Id ProgramWriter::ints(std::vector<std::int64_t> values) {
  const auto count = static_cast<std::int64_t>(values.size());
  return op("1.full_int_array", {},
            {{"value", Tag::kInt64s, std::move(values)},
             {"dtype", Tag::kDType, std::string("int64")},
             {"place", Tag::kPlace}},
            DType::kInt64, {count});
}

Id ProgramWriter::number(double value, DType dtype) {
  return op("1.full", {},
            {{"shape", Tag::kIntArray, std::vector<std::int64_t>{1}},
             {"value", Tag::kFloat64, value},
             {"dtype", Tag::kDType, std::string(name_of(dtype))},
             {"place", Tag::kPlace}},
            dtype, {1});
}

Id ProgramWriter::list(const std::vector<std::string>& names) {
  std::vector<Id> ids;
  std::vector<std::string> types;
  for (const std::string& name : names) {
    ids.push_back(id(name));
    types.push_back(type_of(value(name)));
  }
  const Id out = fresh();
  emit("0.combine", ids, {}, {{out, list_text(types)}});
  return out;
}

Id ProgramWriter::vector_of(const std::vector<std::string>& names) {
  std::vector<Id> items;
  std::vector<std::string> types;
  for (const std::string& name : names) {
    const Value& item = value(name);
    Id number = id(name);
    if (item.dtype != DType::kInt64)
      number =
          op("1.cast", {number}, {{"dtype", Tag::kDType, std::string("int64")}}, DType::kInt64, item.shape);
    items.push_back(op("1.reshape", {number, ints({1})}, {}, DType::kInt64, {1}));
    types.push_back(type_text(DType::kInt64, {1}));
  }
  const Id joined = fresh();
  emit("0.combine", items, {}, {{joined, list_text(types)}});
  return op("1.concat", {joined, number(0, DType::kInt32)}, {}, DType::kInt64,
            {static_cast<std::int64_t>(names.size())});
}

void ProgramWriter::split_list(Id list, const std::vector<std::string>& names) {
  std::vector<NewResult> results;
  for (const std::string& name : names) results.push_back({id(name), type_of(value(name))});
  emit("0.split", {list}, {}, results);
}

Id ProgramWriter::operand(const Operand& operand, const NewOp& op) {
  const auto names = [&](std::string_view slot) {
    for (const auto& [name, arguments] : op.inputs)
      if (name == slot) return arguments;
    return std::vector<std::string>();
  };
  if (operand.kind == Operand::Kind::kList) {
    const std::vector<std::string> items = names(operand.slot);
    return items.empty() ? kAbsent : list(items);
  }
  if (!operand.items.empty())
    if (const std::vector<std::string> items = names(operand.items); !items.empty()) return vector_of(items);
  if (const Id id = input(op, operand.slot); id != kAbsent) return id;
  if (operand.kind == Operand::Kind::kTensor) return kAbsent;
  const paddle::NewAttr* attr = find_attr(op, operand.attr);
  if (operand.kind == Operand::Kind::kInts)
    return ints(attr ? std::get<std::vector<std::int64_t>>(attr->value) : std::vector<std::int64_t>());
  const DType dtype = operand.has_dtype_of_x ? value(op.inputs.at(0).second.at(0)).dtype : operand.dtype;
  return number(attr ? as_real(attr->value) : 0, dtype);
}

std::vector<NewAttr> ProgramWriter::attrs_of(const OpMap& row, const NewOp& op) const {
  std::vector<NewAttr> attrs;
  for (const AttrMap& map : row.attrs) {
    const paddle::NewAttr* attr = map.old.empty() ? nullptr : find_attr(op, map.old);
    attrs.push_back({map.name, version_ < map.since ? narrow(map.tag) : map.tag,
                     attr ? converted(attr->value, map.tag) : map.fallback});
  }
  return attrs;
}

void ProgramWriter::write_row(const OpMap& row, const NewOp& op, const std::vector<Id>& outputs) {
  std::vector<Id> inputs;
  for (const Operand& input : row.inputs) inputs.push_back(operand(input, op));
  std::vector<NewResult> results;
  for (const Output& output : row.outputs) {
    if (output.slot.empty()) {
      results.push_back({fresh(), type_text(output.dtype, {kUnknown})});
      continue;
    }
    const std::string& name = argument(op.outputs, output.slot);
    const std::string type = name.empty() ? type_text(output.dtype, {kUnknown}) : type_of(value(name));
    const bool is_given = results.size() < outputs.size();
    results.push_back({is_given ? outputs[results.size()] : name.empty() ? fresh() : id(name), type});
  }
  emit(fmt::format("1.{}", row.name), inputs, attrs_of(row, op), results);
}

// The node that makes what a dequantize node reads, if both are one fake_quantize_dequantize op.
const Node* ProgramWriter::quantizer_of(const Node& dequantize) const {
  if (dequantize.op != "dequantize") return nullptr;
  const auto it = makers_.find(dequantize.inputs.at(0));
  if (it == makers_.end()) return nullptr;
  const Node& quantize = graph_.nodes[it->second];
  const auto same = [&](const char* name) {
    return attr<std::int64_t>(quantize, name) == attr<std::int64_t>(dequantize, name);
  };
  if (quantize.op != "quantize" || quantize.inputs.at(1) != dequantize.inputs.at(1) || !same("bits") ||
      !same("axis") || attr<std::int64_t>(quantize, "axis") != -1)
    return nullptr;
  for (const Node* node : {&quantize, &dequantize})
    if (attr<std::string>(*node, "unit") != "abs_max") return nullptr;
  return &quantize;
}

bool ProgramWriter::is_taken_by_pairs(const Node& quantize) const {
  if (quantize.op != "quantize" || std::ranges::count(graph_.outputs, quantize.outputs.at(0)) > 0)
    return false;
  const auto it = readers_.find(quantize.outputs.at(0));
  return it != readers_.end() && std::ranges::all_of(it->second, [&](std::size_t reader) {
           return quantizer_of(graph_.nodes[reader]) != nullptr && !original_group(reader);
         });
}

bool ProgramWriter::write_as_pair(const Node& dequantize) {
  const Node* quantize = quantizer_of(dequantize);
  if (!quantize) return false;
  Node fake{.op = "fake_quant",
            .inputs = {quantize->inputs[0], quantize->inputs[1]},
            .outputs = dequantize.outputs,
            .attrs = {{"bits", attr<std::int64_t>(*quantize, "bits")},
                      {"rounding", attr<std::string>(*quantize, "rounding")}}};
  const NewOp op = paddle::write_node(graph_, fake);
  write_row(*row_to_write(op.type), op);
  return true;
}

// The ops that a node was read from, if it and those that were read with it are still the same, and stand
// together.
const Group* ProgramWriter::original_group(std::size_t index) const {
  const Node& node = graph_.nodes[index];
  if (!source_ || node.source < 0) return nullptr;
  const Group& group = source_->groups[source_->group_of_node[static_cast<std::size_t>(node.source)]];
  return changes_.are_as_read(index, group.first_node, group.node_count) ? &group : nullptr;
}

void ProgramWriter::write_node(std::size_t index) {
  const Node& node = graph_.nodes[index];
  if (const Group* group = original_group(index)) {
    if (static_cast<std::size_t>(node.source) == group->first_node)
      for (const std::size_t op : group->ops) write_original(op);
    return;
  }
  if (is_taken_by_pairs(node) || write_as_pair(node)) return;
  const NewOp op = paddle::write_node(graph_, node);
  const OpMap* row = row_to_write(op.type);
  if (!row) fail("{}: a Paddle 3 file has no way to say this op", describe(graph_, node));
  if (row->write)
    row->write(*this, *row, op);
  else
    write_row(*row, op);
}

void ProgramWriter::keep_parameter(const Op& op) {
  const std::string name(op.parameter);
  const auto it = values_.find(name);
  if (it != values_.end() && it->second->is_constant()) {
    id(name);
    return;
  }
  parameters_.emplace_back(op.text);
  if (const paddle::Param* param = changes_.original_param(name)) kept_params_.emplace(name, param);
}

// What an op reads that no node makes: constants and lists.
void ProgramWriter::need_original(Id id) {
  if (id == kAbsent || written_.contains(id)) return;
  const auto it = source_->makers.find(id);
  if (it == source_->makers.end()) return;
  if (const auto same = source_->same.find(id); same != source_->same.end()) {
    // Its op may have been written in other words, or not at all.
    need_original(same->second);
    for (const Result& output : source_->program.ops[it->second].outputs)
      if (output.id == id) op("1.assign", {same->second}, {}, output.type.dtype, output.type.dims, id);
    return;
  }
  const Op& op = source_->program.ops[it->second];
  if (op.name != "p" || !op.is_persistable) return write_original(it->second);
  keep_parameter(op);
  written_.insert(id);
}

void ProgramWriter::write_original(std::size_t index) {
  const Op& op = source_->program.ops[index];
  if (!op.outputs.empty() && written_.contains(op.outputs.front().id)) return;
  for (const auto* ids : {&op.inputs, &op.captured})
    for (const Id id : *ids) need_original(id);
  ops_.emplace_back(op.text);
  for (const Result& output : op.outputs) written_.insert(output.id);
}

void ProgramWriter::write_inputs() {
  for (std::size_t i = 0; i < graph_.inputs.size(); ++i) {
    const Value& value = graph_.value(graph_.inputs[i]);
    const Id input = id(value.name);
    const auto it = source_ ? source_->makers.find(input) : decltype(source_->makers.end())();
    if (source_ && it != source_->makers.end()) {
      const Type& type = source_->program.ops[it->second].outputs.at(0).type;
      if (type.has_dtype && type.dtype == value.dtype && type.dims == value.shape) {
        write_original(it->second);
        continue;
      }
    }
    Shape dims = value.shape;
    emit("1.data", {},
         {{"name", Tag::kText, value.name},
          {"shape", Tag::kIntArray, dims},
          {"dtype", Tag::kDType, std::string(name_of(value.dtype))},
          {"place", Tag::kPlace}},
         {{input, type_of(value)}});
  }
}

void ProgramWriter::write_outputs() {
  bool is_as_read = source_ && source_->outputs.size() == graph_.outputs.size();
  for (std::size_t i = 0; is_as_read && i < graph_.outputs.size(); ++i)
    is_as_read = graph_.value(graph_.outputs[i]).name == source_->outputs[i];
  if (is_as_read) {
    for (const std::size_t op : source_->output_ops) write_original(op);
    return;
  }
  std::unordered_set<std::string> names;
  for (const ValueId id : graph_.inputs) names.insert(graph_.value(id).name);
  for (std::size_t i = 0; i < graph_.outputs.size(); ++i) {
    const Value& value = graph_.value(graph_.outputs[i]);
    // The name of an input, or of another output, is not for a second one.
    std::string name = value.name;
    for (std::size_t n = i; !names.insert(name).second; ++n) name = fmt::format("fetch_name_{}", n);
    emit("1.fetch", {id(value.name)},
         {{"name", Tag::kText, name}, {"col", Tag::kInt32, static_cast<std::int64_t>(i)}},
         {{fresh(), type_of(value)}});
  }
}

std::string ProgramWriter::write() {
  write_inputs();
  for (std::size_t i = 0; i < graph_.nodes.size(); ++i) write_node(i);
  write_outputs();
  std::vector<std::string> ops = std::move(parameters_);
  ops.insert(ops.end(), std::make_move_iterator(ops_.begin()), std::make_move_iterator(ops_.end()));
  return program_text(ops, source_ ? &source_->program : nullptr);
}

}  // namespace octet::paddle3
