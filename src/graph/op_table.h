#pragma once
#include <deque>
#include <span>
#include <string_view>
#include <vector>

#include "graph/graph.h"

namespace octet {

// What is known of a value when shapes are inferred. Before a run, dimensions may be kUnknown and only
// constants have data; in a run everything is known.
struct ValueInfo {
  DType dtype = DType::kFloat32;
  Shape shape;
  const Tensor* data = nullptr;  // null when the elements are not known
};

struct AttrSpec {
  std::string_view name;
  Attr default_value;  // also fixes the type
};

struct OpSpec {
  std::string_view name;
  // Input and output slots. "bias?" may be absent (kNoValue, or cut off at the end); "x*" as the last one
  // takes the rest.
  std::vector<std::string_view> inputs;
  std::vector<std::string_view> outputs;
  std::vector<AttrSpec> attrs;
  // Fills dtype and shape of each output. inputs has an entry for each input of the node; an absent one has a
  // null pointer. An output whose rank cannot be known before a run stays as the caller filled it. Throws an
  // Error that says what does not fit; the caller adds which node it is.
  void (*infer)(const Node& node, std::span<const ValueInfo* const> inputs, std::span<ValueInfo> outputs);
};

// Every op, in the order of docs/ops.md.
std::span<const OpSpec> op_table();
const OpSpec* find_op(std::string_view name);  // null when octet does not know it

// Whether a slot of OpSpec::inputs may be absent, or takes any number of values.
bool is_optional(std::string_view slot);
bool is_variadic(std::string_view slot);

// Throws an Error when the node has too few or too many inputs or outputs for its op, or an absent one that
// is needed.
void check_slots(const OpSpec& spec, const Node& node);

// One node: checks the inputs and fills the outputs (an entry for each output of the node); errors name the
// node. In a run, every input has a known shape and data; then the outputs' shapes are known, too.
void infer_node(const Graph& graph, const Node& node, std::span<const ValueInfo* const> inputs,
                std::span<ValueInfo> outputs);

struct InferredValues {
  std::vector<ValueInfo> infos;
  std::deque<Tensor> tensors;  // what ValueInfo::data points to where it is not a constant of the graph
};

// All nodes, in order. `infos` has what is known of each value to begin with; what a node makes is replaced,
// unless its rank cannot be known before a run. Nodes that are unknown to the table are passed over.
InferredValues infer_values(const Graph& graph, std::vector<ValueInfo> infos);

// Fills dtype and shape of every value that a node defines, from the graph's inputs as they are declared.
// The first dimension of an input counts as unknown whatever the file says: a declared batch size is not
// binding. Where a node is unknown to the table, what the file declared stays.
void infer_shapes(Graph& graph);

}  // namespace octet
