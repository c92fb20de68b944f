#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "formats/paddle/model_io.h"
#include "formats/paddle/source.h"
#include "formats/paddle_common/op_map.h"
#include "passes/passes.h"

namespace octet::paddle {

namespace {

class ProgramWriter {
 public:
  ProgramWriter(const Graph& graph, const Changes& changes, const PaddleSource* source)
      : graph_(graph), changes_(changes), source_(source) {
    for (const Value& value : graph.values) {
      if (!values_.emplace(value.name, &value).second && !value.name.empty())
        fail("two values are named {}; a Paddle file needs different names", value.name);
    }
    if (source)
      for (const VarDesc& var : source->program.vars) original_vars_.emplace(var.name, &var);
  }

  std::string write() {
    add_feed_fetch_vars();
    for (std::size_t i = 0; i < graph_.inputs.size(); ++i)
      add(feed_fetch("feed", "Out", graph_.value(graph_.inputs[i]).name, i));
    for (const Node& node : graph_.nodes) {
      if (const OpDesc* original = original_op(node))
        add_original(*original);
      else
        add(write_node(graph_, node));
    }
    for (std::size_t i = 0; i < graph_.outputs.size(); ++i)
      add(feed_fetch("fetch", "X", graph_.value(graph_.outputs[i]).name, i));
    std::vector<std::string_view> vars, ops(ops_.begin(), ops_.end());
    for (const auto& [name, bytes] : vars_) vars.push_back(bytes);
    return write_program(vars, ops, source_ ? &source_->program : nullptr);
  }

  // The constants that the written ops use, by sorted name.
  const std::map<std::string, const Value*>& constants() const { return constants_; }

 private:
  // The original op of a node, or null when it has to be written anew.
  const OpDesc* original_op(const Node& node) const {
    if (!changes_.is_as_read(node)) return nullptr;
    const auto i = static_cast<std::size_t>(node.source);
    if (!source_->has_file_names[i]) return nullptr;
    return &source_->program.ops[static_cast<std::size_t>(source_->op_of_node[i])];
  }

  static NewOp feed_fetch(const char* type, const char* slot, const std::string& name, std::size_t column) {
    NewOp op{type, {}, {}, {{"col", AttrType::kInt, static_cast<std::int64_t>(column)}}};
    bool is_feed = op.type == "feed";
    (is_feed ? op.outputs : op.inputs).push_back({slot, {name}});
    (is_feed ? op.inputs : op.outputs).push_back({is_feed ? "X" : "Out", {type}});
    return op;
  }

  void add_feed_fetch_vars() {
    vars_["feed"] = write_var("feed", kFeedMinibatch, 0, {}, true);
    vars_["fetch"] = write_var("fetch", kFetchList, 0, {}, true);
  }

  void add(const NewOp& op) {
    for (const auto* slots : {&op.inputs, &op.outputs})
      for (const auto& [slot, arguments] : *slots)
        for (const std::string& name : arguments) need(name);
    ops_.push_back(write_op(op));
  }

  void add_original(const OpDesc& op) {
    for (const auto* slots : {&op.inputs, &op.outputs})
      for (const Slot& slot : *slots)
        for (std::string_view name : slot.arguments) need(std::string(name));
    ops_.emplace_back(op.bytes);
  }

  // Declares a variable: as the file did if that still holds.
  void need(const std::string& name) {
    if (vars_.contains(name)) return;
    auto it = values_.find(name);
    const Value* value = it == values_.end() ? nullptr : it->second;
    if (value && value->is_constant()) constants_.emplace(name, value);
    auto original = original_vars_.find(name);
    bool keep = original != original_vars_.end() && (!value || still_declared(*value, *original->second));
    if (keep)
      vars_[name] = original->second->bytes;
    else if (value)
      vars_[name] = write_var(name, kDenseTensor, code_of(value->dtype), value->shape, value->is_constant());
    else  // a scratch output
      vars_[name] = write_var(name, kDenseTensor, code_of(DType::kFloat32), {}, false);
  }

  bool still_declared(const Value& value, const VarDesc& var) const {
    if (value.is_constant()) return var.persistable && changes_.is_as_read(value);
    return !var.persistable && var.data_type == code_of(value.dtype) && var.shape == value.shape;
  }

  const Graph& graph_;
  const Changes& changes_;
  const PaddleSource* source_;
  std::unordered_map<std::string_view, const Value*> values_;
  std::unordered_map<std::string_view, const VarDesc*> original_vars_;
  std::map<std::string, std::string> vars_;
  std::map<std::string, const Value*> constants_;
  std::vector<std::string> ops_;
};

}  // namespace

std::string write_model(const Graph& graph, const std::function<void(Bytes)>& write_params) {
  const auto* source = dynamic_cast<const PaddleSource*>(graph.source.get());
  const Changes changes(graph, source);
  if (!changes.none() && has_steps(graph)) {
    Graph paddles = graph;
    to_abs_max(paddles);
    return write_model(paddles, write_params);
  }
  if (changes.none()) {
    for (const auto& [name, param] : source->params) write_params(param.record);
    return std::string(as_text(source->model_file->bytes()));
  }
  ProgramWriter writer(graph, changes, source);
  std::string program = writer.write();
  for (const auto& [name, value] : writer.constants()) {
    if (changes.is_as_read(*value)) {
      write_params(changes.original_param(name)->record);
    } else {
      write_params(as_bytes(write_record_header(value->constant)));
      write_params(value->constant.bytes());
    }
  }
  return program;
}

void add_model(AtomicFiles& files, const Graph& graph, const ModelPaths& paths) {
  files.begin(paths.weights);
  std::string program = write_model(graph, [&](Bytes bytes) { files.write(bytes); });
  files.add(paths.model, program);
}

}  // namespace octet::paddle
