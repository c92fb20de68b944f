#include <algorithm>
#include <optional>
#include <set>
#include <unordered_map>

#include "base/journal.h"
#include "formats/paddle/model_io.h"
#include "formats/paddle/source.h"
#include "formats/paddle_common/op_map.h"
#include "formats/paddle_common/recurrent.h"

namespace octet::paddle {
namespace fs = std::filesystem;

namespace {

std::vector<std::string> parameter_names(const Program& program) {
  std::vector<std::string> names;
  for (const VarDesc& var : program.vars)
    if (var.is_parameter()) names.emplace_back(var.name);
  return names;
}

// Turns the ops into nodes. A program may write a variable twice; the graph may not, so a later definition
// gets a name of its own.
class NodeReader {
 public:
  NodeReader(Graph& graph, PaddleSource& source) : graph_(graph), source_(source) {
    for (const VarDesc& var : source.program.vars) vars_.emplace(var.name, &var);
    for (auto& [name, param] : source.params)
      current_[param.name] = graph.add_constant(param.name, param.tensor);
  }

  void read(const OpDesc& op, int index) {
    bool file_names = true;
    auto use = [&](std::string_view name) {
      ValueId id = current(name);
      file_names = file_names && graph_.value(id).name == name;
      return id;
    };
    auto define = [&](std::string_view name) {
      ValueId id = defined_.contains(name) || source_.params.contains(name) ? redefine(name) : current(name);
      defined_.insert(name);
      file_names = file_names && graph_.value(id).name == name;
      return id;
    };
    for (Node& node : op.type == "rnn" ? read_lstm(op, use, define) : one(read_node(op, use, define))) {
      if (node.op == "observe" && node.outputs == std::vector<ValueId>{kNoValue})
        return;  // it measured, no more
      node.source = static_cast<int>(source_.nodes.size());
      source_.nodes.push_back(node);
      source_.op_of_node.push_back(index);
      source_.has_file_names.push_back(file_names);
      graph_.nodes.push_back(std::move(node));
    }
  }

  void feed(const OpDesc& op) { place(graph_.inputs, op, single(op.output("Out"), op)); }
  void fetch(const OpDesc& op) { place(graph_.outputs, op, single(op.input("X"), op)); }

 private:
  using Lookup = std::function<ValueId(std::string_view)>;

  static std::vector<Node> one(Node node) { return {std::move(node)}; }

  // An LSTM is several nodes; other modes of the op are left as they are.
  std::vector<Node> read_lstm(const OpDesc& op, const Lookup& use, const Lookup& define) {
    const auto inner = [&](Shape shape) {
      return graph_.add_value(fmt::format("{}.lstm{}", op.output("Out").front(), ++inner_), DType::kFloat32,
                              std::move(shape));
    };
    try {
      return read_rnn(op, {graph_, use, define, inner});
    } catch (const Error& error) {
      if (error.kind() == Error::Kind::kInternal) throw;
      Node node = read_node(op, use, define);
      node.attrs["reason"] = error.what();
      return one(std::move(node));
    }
  }

  ValueId current(std::string_view name) {
    if (auto it = current_.find(name); it != current_.end()) return it->second;
    ValueId id = graph_.add_value(std::string(name));
    declare(id, name);
    current_[name] = id;
    return id;
  }

  ValueId redefine(std::string_view name) {
    ValueId id = graph_.add_value(fmt::format("{}@{}", name, ++redefinitions_));
    declare(id, name);
    current_[name] = id;
    return id;
  }

  void declare(ValueId id, std::string_view name) {
    auto var = vars_.find(name);
    if (var == vars_.end()) return;
    dtype_from_code(var->second->data_type, &graph_.value(id).dtype);
    graph_.value(id).shape = var->second->shape;
    for (std::int64_t& dim : graph_.value(id).shape)
      if (dim < 0) dim = kUnknown;
  }

  static std::string_view single(const std::vector<std::string_view>& arguments, const OpDesc& op) {
    if (arguments.size() != 1) fail("a {} op has {} variables, expected one", op.type, arguments.size());
    return arguments.front();
  }

  void place(std::vector<ValueId>& list, const OpDesc& op, std::string_view name) {
    std::int64_t column = int_attr(op, "col", static_cast<std::int64_t>(list.size()));
    if (column < 0 || column > 4096) fail("a {} op is for column {}", op.type, column);
    auto index = static_cast<std::size_t>(column);
    if (list.size() <= index) list.resize(index + 1, kNoValue);
    if (list[index] != kNoValue) fail("two {} ops are for column {}", op.type, column);
    list[index] = current(name);
  }

  Graph& graph_;
  PaddleSource& source_;
  std::unordered_map<std::string_view, const VarDesc*> vars_;
  std::unordered_map<std::string_view, ValueId> current_;
  std::set<std::string_view> defined_;
  int redefinitions_ = 0, inner_ = 0;
};

void check_complete(const std::vector<ValueId>& list, const char* what) {
  for (std::size_t i = 0; i < list.size(); ++i)
    if (list[i] == kNoValue) fail("it has {} {} but none with number {}", list.size(), what, i);
}

}  // namespace

Graph load_model(const ModelPaths& paths) {
  auto source = std::make_shared<PaddleSource>();
  std::optional<FolderLock> together(std::in_place, folder_of(paths.model), FolderLock::Kind::kShared);
  source->model_file = std::make_shared<const MappedFile>(paths.model);
  Graph graph;
  std::vector<std::string> names;
  try {
    source->program = parse_program(as_text(source->model_file->bytes()));
    names = sorted_names(parameter_names(source->program));
  } catch (const Error& error) {
    fail("{}: not a Paddle model: {}", paths.model.string(), error.what());
  }
  read_model_params(paths, names, *source);
  together.reset();
  try {
    NodeReader reader(graph, *source);
    int index = 0;
    for (const OpDesc& op : source->program.ops) {
      if (op.type == "feed")
        reader.feed(op);
      else if (op.type == "fetch")
        reader.fetch(op);
      else
        reader.read(op, index);
      ++index;
    }
    if (graph.outputs.empty()) fail("it has no fetch op, so no outputs; export it as an inference model");
    check_complete(graph.inputs, "inputs");
    check_complete(graph.outputs, "outputs");
    verify(graph);
  } catch (const Error& error) {
    fail("{}: {}", paths.model.string(), error.what());
  }
  source->remember_names(graph);
  graph.source = source;
  return graph;
}

}  // namespace octet::paddle
