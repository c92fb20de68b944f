#pragma once
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "formats/onnx/reader.h"
#include "formats/onnx/source.h"
#include "graph/op_table.h"
#include "graph/ops/infer.h"
#include "octet/model.h"

namespace octet::onnx {

// Makes a graph of a model, node by node. What is computed from constants alone is computed here, since ONNX
// spells weights, axes and shapes as nodes; shapes are inferred on the way, since what a node means can
// depend on the rank of its input.
class Importer {
 public:
  Importer(OnnxSource& source, const LoadOptions& options) : source_(source), options_(options) {}

  Graph run();

 private:
  friend class Reader;

  // Where names mean something: the graph, a branch of an If in it, or the body of a function.
  struct Scope {
    const Scope* outer = nullptr;  // null: a function sees nothing else
    std::int64_t opset = 0;
    const std::map<std::string_view, std::int64_t>* opsets = nullptr;
    std::span<const AttributeProto> arguments = {};  // of the function's call
    const FunctionProto* function = nullptr;
    std::unordered_map<std::string_view, ValueId> values = {};

    ValueId find(std::string_view name) const;  // kNoValue: none
  };

  // What is known of a value beside what the graph says.
  struct Known {
    bool has_rank = false;
    std::optional<ops::MaybeInts> elements;
    const Tensor* tensor = nullptr;  // all of its elements
  };

  void add_initializers(const GraphProto& graph, Scope& scope);
  void add_inputs(const GraphProto& graph, Scope& scope);
  void declare(ValueId id, const ValueProto& value);
  void read_nodes(const std::vector<NodeProto>& nodes, Scope& scope, int depth);
  void read_node(const NodeProto& node, Scope& scope, int depth);
  bool inline_branch(const NodeProto& node, Scope& scope, int depth);
  bool call_function(const NodeProto& node, Scope& scope, std::span<const AttributeProto> attributes,
                     int depth);
  void read_with_row(const NodeProto& node, Scope& scope, std::span<const AttributeProto> attributes,
                     std::vector<ValueId> inputs);
  void keep_foreign(const NodeProto& node, Scope& scope, std::span<const AttributeProto> attributes,
                    std::vector<ValueId> inputs, const std::string& reason);
  std::vector<AttributeProto> bound_attributes(const NodeProto& node, const Scope& scope) const;
  void define(std::string_view name, ValueId id, Scope& scope);
  void set_outputs(const GraphProto& graph, Scope& scope);

  ValueId add_value(std::string name);
  ValueId add_constant(std::string name, Tensor tensor);
  std::string unique(std::string name);
  std::vector<ValueId> emit(const std::string& op, std::vector<ValueId> inputs, Attrs attrs,
                            std::size_t outputs);
  bool infer(const Node& node, std::vector<ValueInfo>& outputs) const;
  bool compute(const Node& node, const std::vector<ValueInfo>& infos, std::int64_t limit, bool constants_only,
               std::vector<Tensor>& results) const;
  const Tensor* elements_of(ValueId id, bool constants_only) const;
  Known& known(ValueId id) { return known_[static_cast<std::size_t>(id)]; }
  const Known& known(ValueId id) const { return known_[static_cast<std::size_t>(id)]; }

  OnnxSource& source_;
  const LoadOptions& options_;
  Graph graph_;
  std::vector<Known> known_;               // one a value
  std::deque<Tensor> tensors_;             // what Known::tensor points to
  std::unordered_set<std::string> names_;  // of values
  std::unordered_map<std::string_view, const ValueProto*> declared_;
  std::string base_name_;       // of what the current node makes
  std::size_t made_bytes_ = 0;  // by folding constants
  std::size_t nodes_left_ = 0;
};

}  // namespace octet::onnx
