#include "graph/graph.h"
#include "graph/op_table.h"

namespace octet {

namespace {

class Verifier {
 public:
  explicit Verifier(const Graph& graph) : graph_(graph), defined_(graph.values.size(), false) {}

  void run() {
    for (std::size_t i = 0; i < graph_.values.size(); ++i) verify_constant(graph_.values[i], i);
    for (ValueId id : graph_.inputs) {
      require_exists(id, "the graph's inputs");
      define(id, "the graph's inputs");
    }
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) verify_node(graph_.nodes[i], i);
    for (ValueId id : graph_.outputs) {
      require_exists(id, "the graph's outputs");
      require_defined(id, "the graph's outputs");
    }
  }

 private:
  void verify_constant(const Value& value, std::size_t i) {
    if (!value.is_constant()) return;
    if (value.constant.dtype() != value.dtype || value.constant.shape() != value.shape) {
      fail("constant \"{}\" is {} {}, its tensor {} {}", value.name, name_of(value.dtype),
           to_string(value.shape), name_of(value.constant.dtype()), to_string(value.constant.shape()));
    }
    defined_[i] = true;
  }

  void verify_node(const Node& node, std::size_t number) {
    std::string place = fmt::format("node {} ({})", number, node.op);
    for (ValueId id : node.outputs)
      if (id != kNoValue) require_exists(id, place);
    place = describe(graph_, node);
    for (ValueId id : node.inputs) {
      if (id == kNoValue) continue;
      require_exists(id, place);
      require_defined(id, place);
    }
    for (ValueId id : node.outputs)
      if (id != kNoValue) define(id, place);
    const OpSpec* spec = find_op(node.op);
    if (!spec) return;  // another tool's op: nothing is known of its slots
    try {
      check_slots(*spec, node);
      check_attribute_types(*spec, node);
    } catch (const Error& error) {
      fail("{}: {}", place, error.what());
    }
  }

  void require_exists(ValueId id, const std::string& place) {
    if (id < 0 || static_cast<std::size_t>(id) >= graph_.values.size())
      fail("{}: there is no value number {}", place, id);
  }

  void require_defined(ValueId id, const std::string& place) {
    if (!defined_[static_cast<std::size_t>(id)])
      fail("{}: \"{}\" is used before anything defines it", place, graph_.value(id).name);
  }

  void define(ValueId id, const std::string& place) {
    if (defined_[static_cast<std::size_t>(id)])
      fail("{}: \"{}\" is defined twice", place, graph_.value(id).name);
    defined_[static_cast<std::size_t>(id)] = true;
  }

  const Graph& graph_;
  std::vector<bool> defined_;
};

}  // namespace

void verify(const Graph& graph) {
  Verifier(graph).run();
}

}  // namespace octet
