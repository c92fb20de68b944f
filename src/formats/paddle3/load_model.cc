#include <algorithm>
#include <charconv>
#include <optional>
#include <unordered_set>

#include "base/journal.h"
#include "formats/paddle3/definitions.h"
#include "formats/paddle3/model_io.h"
#include "formats/paddle3/op_map.h"
#include "formats/paddle3/source.h"
#include "formats/paddle_common/op_map.h"
#include "formats/paddle_common/recurrent.h"

namespace octet::paddle3 {

namespace {

constexpr int kMaxDepth = 64;  // of constants that are made of others

std::vector<std::string> parameter_names(const Program& program) {
  std::vector<std::string> names;
  for (const Op& op : program.ops) {
    if (op.name != "p" || !op.is_persistable) continue;
    if (op.parameter.empty() || op.outputs.size() != 1 || op.outputs[0].id == kAbsent)
      fail("it has a parameter without a name or a number");
    names.emplace_back(op.parameter);
  }
  return names;
}

// "conv2d" for "1.conv2d".
std::string_view base_name(std::string_view name) {
  if (name == "p") return "parameter";
  return name.size() > 2 && name[1] == '.' ? name.substr(2) : name;
}

// Turns the ops into nodes. Constants, lists and what only shapes or casts a parameter become nodes when
// someone reads them as tensors; mostly they become attributes and slots of the ops that read them.
class NodeReader {
 public:
  NodeReader(Graph& graph, Paddle3Source& source)
      : graph_(graph), source_(source), ops_(source.program.ops), values_(source.program) {
    for (std::size_t i = 0; i < ops_.size(); ++i)
      for (const Result& output : ops_[i].outputs) {
        source.makers.emplace(output.id, i);
        source.largest_id = std::max(source.largest_id, output.id);
      }
    name_values();
  }

  void run() {
    for (current_ = 0; current_ < ops_.size(); ++current_) {
      const Op& op = ops_[current_];
      if (op.name == "1.data" || op.name == "1.feed")
        read_input(op);
      else if (op.name == "1.fetch")
        read_output(op);
      else if (!is_lazy(op) && !is_taken_apart(op) && !read_item(op))
        read(current_);
    }
    if (source_.output_ops.empty())
      fail("it has no fetch op, so no outputs; export it as an inference model");
    order(graph_.inputs, input_columns_);
    order(graph_.outputs, output_columns_);
  }

 private:
  static std::string_view text_attr(const Op& op, std::string_view name) {
    const Attr* attr = op.find_attr(name);
    const auto* text = attr ? std::get_if<std::string_view>(&attr->value) : nullptr;
    return text ? *text : std::string_view();
  }

  // Parameters, inputs and outputs have names; other values are named by their ops and numbers.
  void name_values() {
    const auto claim = [&](Id id, std::string_view name, const char* what) {
      if (!taken_.insert(std::string(name)).second) fail("two values are named {}", name);
      if (name.empty()) fail("it has {} without a name", what);
      names_[id] = name;
    };
    for (const Op& op : ops_) {
      if (op.outputs.empty()) continue;
      if (op.name == "p" && op.is_persistable) claim(op.outputs[0].id, op.parameter, "a parameter");
      if (op.name == "1.data" || op.name == "1.feed")
        claim(op.outputs[0].id, text_attr(op, "name"), "an input");
    }
    for (const Op& op : ops_) {
      if (op.name != "1.fetch" || op.inputs.size() != 1 || names_.contains(op.inputs[0])) continue;
      const std::string name(text_attr(op, "name"));
      if (!name.empty() && printable(name) == name && taken_.insert(name).second) names_[op.inputs[0]] = name;
    }
    for (const Op& op : ops_)
      if (op.name == "p" && op.is_persistable)
        bind(op.outputs[0].id, graph_.add_constant(std::string(op.parameter),
                                                   source_.params.find(op.parameter)->second.tensor));
  }

  std::string unique(std::string name) {
    while (!taken_.insert(name).second) name += '_';
    return name;
  }

  const std::string& name_of(Id id) {
    std::string& name = names_[id];
    if (name.empty()) name = unique(fmt::format("{}_{}", base_name(values_.maker(id)->name), id));
    return name;
  }

  void bind(Id id, ValueId value) {
    bound_[id] = value;
    source_.ids[graph_.value(value).name] = id;
  }

  // What is read as a tensor only if nobody knows better.
  bool is_lazy(const Op& op) const {
    for (const char* name :
         {"1.full", "1.full_int_array", "1.assign_value_", "1.assign_value", "0.combine", "1.stack"})
      if (op.name == name) return true;
    if (op.name == "p") return true;
    const bool shapes = op.name == "1.reshape" || op.name == "1.cast";
    return shapes && !op.inputs.empty() && values_.is_parameter(op.inputs[0]);
  }

  // A list of results whose parts are bound already.
  bool is_taken_apart(const Op& op) const {
    return (op.name == "0.split" || op.name == "0.slice") && op.inputs.size() == 1 &&
           apart_.contains(op.inputs[0]);
  }

  // An item of a list that combine joined is that value. Whether it was one.
  bool read_item(const Op& op) {
    if (op.name != "0.slice" || op.inputs.size() != 1 || op.outputs.size() != 1) return false;
    const std::optional<std::vector<Id>> items = values_.list(op.inputs[0]);
    const std::optional<std::size_t> index = items ? item_index(op, items->size()) : std::nullopt;
    if (!index || (*items)[*index] == kAbsent) return false;
    make_same(op.outputs[0].id, (*items)[*index]);
    return true;
  }

  void make_same(Id result, Id other) {
    bound_[result] = value(other);
    source_.same[result] = other;
  }

  ValueId value(Id id) {
    if (const auto it = bound_.find(id); it != bound_.end()) return it->second;
    const Op* maker = values_.maker(id);
    if (!maker || values_.position(id) >= current_) fail("value {} is used before anything defines it", id);
    if (!is_lazy(*maker)) fail("value {} is used, and octet does not know what it is", id);
    if (++depth_ > kMaxDepth) fail("value {} is made of constants that are nested too deep", id);
    const std::size_t reading = current_;
    current_ = values_.position(id);
    read(current_);
    current_ = reading;
    --depth_;
    return bound_.at(id);
  }

  ValueId define(Id id) {
    if (!values_.maker(id)) fail("it has a result without a number");
    const Type& type = values_.type(id);
    const ValueId value =
        graph_.add_value(name_of(id), type.has_dtype ? type.dtype : DType::kFloat32, type.dims);
    bind(id, value);
    return value;
  }

  // A value that the file has not: between the older ops that one op is.
  ValueId add_inner(Id id, std::string_view word, const Type& type) {
    if (!values_.maker(id)) fail("it has a result without a number");
    return graph_.add_value(unique(name_of(id) + std::string(word)), type.dtype, type.dims);
  }

  // A value of the older ops' names: "%12", or "%12.word" for one that only they know.
  static Id number_in(std::string_view name, std::string_view* word) {
    Id id = 0;
    const auto [end, error] = std::from_chars(name.data() + 1, name.data() + name.size(), id);
    check(error == std::errc(), "a value of an older op is named by its number");
    *word = name.substr(static_cast<std::size_t>(end - name.data()));
    return id;
  }

  ValueId use(std::string_view name, const std::unordered_map<std::string_view, ValueId>& inner) {
    std::string_view word;
    const Id id = number_in(name, &word);
    return word.empty() ? value(id) : inner.at(name);
  }

  void read(std::size_t index) {
    const Op& op = ops_[index];
    if (op.name == "1.full_int_array" || op.name == "1.assign_value_" || op.name == "1.assign_value") {
      if (read_constant(op)) return;
      return leave_uninterpreted(index, "its numbers are not understood");
    }
    const OpMap* row = row_to_read(op.name);
    if (!row) return leave_uninterpreted(index, "");
    OldOps old;
    std::vector<paddle::NamedNode> nodes;
    std::vector<Node> whole;  // of one op that is many nodes
    try {
      old = read_op(*row, values_, op);
      if (row->old == "rnn")
        whole = read_rnn(old.ops.front(), op.outputs.at(0).id);
      else
        nodes = interpret(old);
    } catch (const Error& error) {
      if (error.kind() == Error::Kind::kInternal) throw;
      return leave_uninterpreted(index, error.what());
    }
    // All inputs first: constants among them become nodes in front of these.
    std::unordered_map<std::string_view, ValueId> inner;
    for (const paddle::NamedNode& node : nodes)
      for (const std::string_view name : node.inputs)
        if (!name.empty() && name.find('.') == std::string_view::npos) use(name, inner);
    Group group{source_.nodes.size(), 0, {index}};
    for (paddle::NamedNode& named : nodes) {
      for (const std::string_view name : named.inputs)
        named.node.inputs.push_back(name.empty() ? kNoValue : use(name, inner));
      for (const std::string_view name : named.outputs) {
        std::string_view word;
        const Id id = name.empty() ? kAbsent : number_in(name, &word);
        if (name.empty())
          named.node.outputs.push_back(kNoValue);
        else if (word.empty())
          named.node.outputs.push_back(define(id));
        else
          named.node.outputs.push_back(inner[name] = add_inner(id, word, old.inner_types.at(name)));
      }
      add(std::move(named.node), group);
    }
    for (Node& node : whole) add(std::move(node), group);
    for (const auto& [result, other] : old.same) make_same(result, other);
    for (const Result& output : op.outputs) {
      if (bound_.contains(output.id) || !values_.is_used(output.id)) continue;
      apart_.insert(output.id);  // a list, whose parts are bound
      for (const std::size_t taker : values_.takers(output.id)) group.ops.push_back(taker);
    }
    source_.groups.push_back(std::move(group));
  }

  static std::vector<paddle::NamedNode> interpret(const OldOps& old) {
    std::vector<paddle::NamedNode> nodes;
    for (const OpDesc& op : old.ops) {
      std::optional<paddle::NamedNode> node = paddle::interpret(op);
      check(node.has_value(), "what a row reads is an op of the op map");
      nodes.push_back(std::move(*node));
    }
    return nodes;
  }

  std::vector<Node> read_rnn(const OpDesc& op, Id out) {
    std::string_view word;
    int count = 0;
    return paddle::read_rnn(
        op, {.graph = graph_,
             .use = [&](std::string_view name) { return value(number_in(name, &word)); },
             .define = [&](std::string_view name) { return define(number_in(name, &word)); },
             .inner =
                 [&](Shape shape) {
                   return graph_.add_value(unique(fmt::format("{}.lstm{}", name_of(out), count++)),
                                           DType::kFloat32, std::move(shape));
                 }});
  }

  void add(Node node, Group& group) {
    if (node.op == "observe" && node.outputs == std::vector<ValueId>{kNoValue}) return;
    node.source = static_cast<int>(source_.nodes.size());
    source_.nodes.push_back(node);
    source_.group_of_node.push_back(source_.groups.size());
    ++group.node_count;
    graph_.nodes.push_back(std::move(node));
  }

  // Numbers that an op says become a constant, which has no record in the params file.
  bool read_constant(const Op& op) {
    if (op.outputs.size() != 1) return false;
    const bool is_vector = op.name == "1.full_int_array";
    const Attr* attr = op.find_attr(is_vector ? "value" : "values");
    if (!attr) return false;
    std::vector<double> reals;
    std::vector<std::int64_t> integers;
    if (const auto* list = std::get_if<std::vector<std::int64_t>>(&attr->value)) integers = *list;
    if (const auto* list = std::get_if<std::vector<double>>(&attr->value)) reals = *list;
    const auto count = static_cast<std::int64_t>(reals.size() + integers.size());
    Shape shape = {count};
    DType dtype = DType::kInt64;
    if (!is_vector) {
      const Attr* dims = op.find_attr("shape");
      const auto* given = dims ? std::get_if<std::vector<std::int64_t>>(&dims->value) : nullptr;
      if (!given || !parse_dtype(text_attr(op, "dtype"), &dtype)) return false;
      shape = *given;
    }
    for (const std::int64_t dim : shape)
      if (dim < 0) return false;
    if (element_count(shape) != count) return false;
    const Tensor wide = reals.empty() ? Tensor::of(shape, integers) : Tensor::of(shape, reals);
    const Id id = op.outputs[0].id;
    const std::string name = name_of(id);
    const ValueId value = graph_.add_constant(name, wide.cast(dtype));
    source_.params.emplace(name, paddle::Param{name, graph_.value(value).constant, {}});
    bind(id, value);
    return true;
  }

  // A node that can't run, with all that the op reads, so that nothing of it is taken for dead.
  void leave_uninterpreted(std::size_t index, std::string reason) {
    const Op& op = ops_[index];
    Node node;
    node.op = fmt::format("paddle3:{}", base_name(op.name));
    if (!reason.empty()) node.attrs["reason"] = std::move(reason);
    for (const Id id : op.inputs) {
      // A parameter without a record is room for what the op writes there.
      if (id == kAbsent || (values_.is_made_by(id, "p") && !values_.is_parameter(id))) continue;
      if (const auto items = bound_.contains(id) ? std::nullopt : values_.list(id)) {
        for (const Id item : *items) node.inputs.push_back(item == kAbsent ? kNoValue : value(item));
      } else {
        node.inputs.push_back(value(id));
      }
    }
    for (const Id id : op.captured)
      if (values_.maker(id)) node.inputs.push_back(value(id));
    for (const Result& output : op.outputs)
      node.outputs.push_back(output.id == kAbsent ? kNoValue : define(output.id));
    Group group{source_.nodes.size(), 0, {index}};
    add(std::move(node), group);
    source_.groups.push_back(std::move(group));
  }

  static std::int64_t column(const Op& op, std::size_t fallback) {
    const Attr* attr = op.find_attr("col");
    const auto* integer = attr ? std::get_if<std::int64_t>(&attr->value) : nullptr;
    return integer ? *integer : static_cast<std::int64_t>(fallback);
  }

  void read_input(const Op& op) {
    if (op.outputs.size() != 1)
      fail("a {} op has {} outputs, expected one", base_name(op.name), op.outputs.size());
    input_columns_.push_back(column(op, graph_.inputs.size()));
    graph_.inputs.push_back(define(op.outputs[0].id));
    source_.input_ops.push_back(current_);
  }

  void read_output(const Op& op) {
    if (op.inputs.size() != 1) fail("a fetch op has {} inputs, expected one", op.inputs.size());
    output_columns_.push_back(column(op, graph_.outputs.size()));
    graph_.outputs.push_back(value(op.inputs[0]));
    source_.output_ops.push_back(current_);
  }

  // By their columns, and as they stand where those are equal.
  static void order(std::vector<ValueId>& values, const std::vector<std::int64_t>& columns) {
    std::vector<std::size_t> places(values.size());
    for (std::size_t i = 0; i < places.size(); ++i) places[i] = i;
    std::ranges::stable_sort(places, [&](std::size_t a, std::size_t b) { return columns[a] < columns[b]; });
    std::vector<ValueId> ordered;
    for (const std::size_t place : places) ordered.push_back(values[place]);
    values = std::move(ordered);
  }

  Graph& graph_;
  Paddle3Source& source_;
  const std::vector<Op>& ops_;
  const Definitions values_;
  std::unordered_map<Id, std::string> names_;
  std::unordered_set<std::string> taken_;
  std::unordered_map<Id, ValueId> bound_;
  std::unordered_set<Id> apart_;
  std::vector<std::int64_t> input_columns_, output_columns_;
  std::size_t current_ = 0;
  int depth_ = 0;
};

}  // namespace

Graph load_model(const ModelPaths& paths) {
  auto source = std::make_shared<Paddle3Source>();
  std::optional<FolderLock> together(std::in_place, folder_of(paths.model), FolderLock::Kind::kShared);
  source->model_file = std::make_shared<const MappedFile>(paths.model);
  Graph graph;
  std::vector<std::string> names;
  try {
    source->program = parse_program(as_text(source->model_file->bytes()));
    names = paddle::sorted_names(parameter_names(source->program));
  } catch (const Error& error) {
    fail("{}: not a Paddle 3 model: {}", paths.model.string(), error.what());
  }
  paddle::read_model_params(paths, names, *source);
  together.reset();
  try {
    NodeReader(graph, *source).run();
    verify(graph);
  } catch (const Error& error) {
    fail("{}: {}", paths.model.string(), error.what());
  }
  source->remember_names(graph);
  graph.source = source;
  return graph;
}

}  // namespace octet::paddle3
