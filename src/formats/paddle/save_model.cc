#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "base/journal.h"
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
    const OpDesc* last = nullptr;
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      const OpDesc* original = original_op(i);
      if (!original)
        add_new(write_node(graph_, graph_.nodes[i]));
      else if (original != last)
        add_original(*original);
      last = original;
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
  // The original op of a node, or null when it, or another that was read from that op, has to be written
  // anew.
  const OpDesc* original_op(std::size_t index) const {
    if (!source_ || graph_.nodes[index].source < 0) return nullptr;
    const auto i = static_cast<std::size_t>(graph_.nodes[index].source);
    const auto [first, last] =
        std::equal_range(source_->op_of_node.begin(), source_->op_of_node.end(), source_->op_of_node[i]);
    if (!source_->has_file_names[i] ||
        !changes_.are_as_read(index, static_cast<std::size_t>(first - source_->op_of_node.begin()),
                              static_cast<std::size_t>(last - first)))
      return nullptr;
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

  // An op, or the ops that say it in all releases.
  void add_new(const NewOp& op) {
    if (op.type == "shape64")
      add_shape64(op);
    else if (op.type == "pad2d" && op.inputs.size() == 1)
      add_pad2d(op);
    else
      add(op);
  }

  // The op counts in 32 bits.
  void add_shape64(const NewOp& op) {
    const std::string narrow = op.outputs.at(0).second.at(0) + ".int32";
    vars_[narrow] = write_var(narrow, kDenseTensor, code_of(DType::kInt32), {}, false);
    add({"shape", op.inputs, {{"Out", {narrow}}}, {}});
    add({"cast",
         {{"X", {narrow}}},
         op.outputs,
         {{"in_dtype", AttrType::kInt, std::int64_t{code_of(DType::kInt32)}},
          {"out_dtype", AttrType::kInt, std::int64_t{code_of(DType::kInt64)}}}});
  }

  // Paddle 3 has no pad2d any more: it is pad3d between ops that make a volume of the image and back.
  void add_pad2d(const NewOp& op) {
    using Ints = std::vector<std::int64_t>;
    Ints pads;
    std::string mode = "constant";
    double value = 0;
    for (const NewAttr& attr : op.attrs) {
      if (attr.name == "paddings") pads = std::get<Ints>(attr.value);  // top, bottom, left, right
      if (attr.name == "mode") mode = std::get<std::string>(attr.value);
      if (attr.name == "pad_value") value = std::get<double>(attr.value);
    }
    const std::string y = op.outputs.at(0).second.at(0), volume = y + ".volume", padded = y + ".padded";
    const NewAttr axes{"axes", AttrType::kInts, Ints{2}};
    add({"unsqueeze2", {op.inputs.at(0)}, {{"Out", {volume}}, {"XShape", {volume + ".XShape"}}}, {axes}});
    add({"pad3d",
         {{"X", {volume}}},
         {{"Out", {padded}}},
         {{"paddings", AttrType::kInts, Ints{pads.at(2), pads.at(3), pads.at(0), pads.at(1), 0, 0}},
          {"mode", AttrType::kString, mode == "edge" ? "replicate" : mode},
          {"value", AttrType::kFloat, value},
          {"data_format", AttrType::kString, "NCDHW"}}});
    add({"squeeze2", {{"X", {padded}}}, {op.outputs.at(0), {"XShape", {y + ".XShape"}}}, {axes}});
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
  // Paddle, and octet, would take that file for the model, with the parameters of this one.
  const std::filesystem::path newer = std::filesystem::path(paths.model).replace_extension(".json");
  if (file_exists(newer))
    fail(
        "{}: a Paddle 3 model is there, which would be taken for the one that is to be written beside it; "
        "remove it or choose another directory",
        newer.string());
  files.begin(paths.weights);
  std::string program = write_model(graph, [&](Bytes bytes) { files.write(bytes); });
  files.add(paths.model, program);
}

}  // namespace octet::paddle
