#pragma once
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formats/paddle_common/op_desc.h"
#include "graph/graph.h"

// Paddle's ops and their nodes in the graph. One row an op says both ways; most rows are only names.
namespace octet::paddle {

struct AttrMap {
  std::string_view paddle;
  std::string_view octet;
  AttrType type;  // as Paddle declares it
};

struct OpMap {
  std::string_view paddle;  // Paddle's type
  std::string_view octet;   // the op table's name; the first row with it is the one that writes
  // Paddle's slots, in the order of the op table's inputs and outputs. "X*" takes all arguments of the slot;
  // an input
  // ">OutScale" stands in an output slot: what the op would write there in training, it reads at inference.
  std::vector<std::string_view> inputs;
  std::vector<std::string_view> outputs;
  std::vector<AttrMap> attrs = {};
  std::vector<std::string_view> scratch =
      {};  // output slots that Paddle wants a variable for and nobody reads
  // What names alone can't say, after the columns above were carried out. `read` throws an Error when the
  // graph has no way to say what this op does: the node then stays uninterpreted, with the message as the
  // reason.
  void (*read)(const OpDesc& op, Node& node) = nullptr;
  void (*write)(const Graph& graph, const Node& node, NewOp& op) = nullptr;
  bool (*applies)(const OpDesc& op) = nullptr;  // of several rows for one type, the first that applies reads
};

// The rows, by family.
std::vector<OpMap> numeric_rows();
std::vector<OpMap> shape_rows();
std::vector<OpMap> quantization_rows();

// A node with the names of its values in place of them; "" is an absent one.
struct NamedNode {
  Node node;
  std::vector<std::string_view> inputs, outputs;
};

// What an op means in the graph. Nothing when octet doesn't know its type; an Error with the reason when it
// knows the type but has no way to say what this op does.
std::optional<NamedNode> interpret(const OpDesc& op);

// The node for an op. `use` gives the value that a name stands for where the op reads it, `define` makes the
// value that the op defines. An op that is not understood becomes "paddle:TYPE", with the attribute "reason"
// if there is one.
Node read_node(const OpDesc& op, const std::function<ValueId(std::string_view)>& use,
               const std::function<ValueId(std::string_view)>& define);

// The op for a node; throws an Error when Paddle has none. Scratch outputs are named after the first output.
NewOp write_node(const Graph& graph, const Node& node);

// The type that write_node gives a node; octet's own name where Paddle has none.
std::string written_type(const Graph& graph, const Node& node);
// Whether octet reads an op of this type.
bool has_type(std::string_view type);

// Rows are written with these:  ints("strides"), real("dropout_prob", "p").
inline AttrMap ints(std::string_view name, std::string_view octet = {}) {
  return {name, octet.empty() ? name : octet, AttrType::kInts};
}
inline AttrMap integer(std::string_view name, std::string_view octet = {}) {
  return {name, octet.empty() ? name : octet, AttrType::kInt};
}
inline AttrMap real(std::string_view name, std::string_view octet = {}) {
  return {name, octet.empty() ? name : octet, AttrType::kFloat};
}
inline AttrMap flag(std::string_view name, std::string_view octet = {}) {
  return {name, octet.empty() ? name : octet, AttrType::kBoolean};
}

// For the read and write functions of rows.
std::int64_t int_attr(const OpDesc& op, std::string_view name, std::int64_t fallback);
std::string_view string_attr(const OpDesc& op, std::string_view name, std::string_view fallback);
std::vector<std::int64_t> ints_attr(const OpDesc& op, std::string_view name);
void set_attr(NewOp& op, std::string name, AttrType type,
              decltype(NewAttr::value) value);  // adds or replaces
std::string dtype_attr(const OpDesc& op,
                       std::string_view name);  // a VarType.Type as the op table names dtypes
std::int64_t dtype_code(const Node& node, std::string_view name);

}  // namespace octet::paddle
