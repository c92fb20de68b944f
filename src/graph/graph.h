#pragma once
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "tensor/tensor.h"

namespace octet {

// The one in-memory model. Plain structs: everything else is a function on them.
//
//   Graph graph;                                   // or, more pleasant, graph/builder.h
//   ValueId x = graph.add_value("x", DType::kFloat32, {kUnknown, 3, 224, 224});
//   ValueId y = graph.add_value("y");
//   graph.inputs = {x};
//   graph.nodes.push_back({.op = "relu", .inputs = {x}, .outputs = {y}});
//   graph.outputs = {y};

using ValueId = int;
constexpr ValueId kNoValue = -1;  // an optional input that is absent

using Attr =
    std::variant<bool, std::int64_t, double, std::string, std::vector<std::int64_t>, std::vector<double>>;
using Attrs = std::map<std::string, Attr, std::less<>>;

// How an image (a tensor of 4 dimensions) lies in memory; its shape is N C H W all the same.
enum class Layout : std::uint8_t { kPlain, kChannelsLast };

// What an implementation of an op wants of the images among its inputs and outputs.
enum class LayoutNeed : std::uint8_t {
  kPlain,         // N C H W, all of them
  kChannelsLast,  // N H W C, all of them
  kSame,          // either, but the same for all
};

struct Value {
  std::string name;
  DType dtype = DType::kFloat32;
  Shape shape;      // as declared or inferred; kUnknown where only a run decides
  Tensor constant;  // not empty: a parameter or another constant, and dtype and shape are the tensor's
  Layout layout = Layout::kPlain;

  bool is_constant() const { return !constant.empty(); }
};

struct Node {
  std::string
      op;  // a name of the op table (graph/op_table.h), or one it doesn't know, such as "paddle:while"
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;
  Attrs attrs;      // what is absent has the op table's default
  int source = -1;  // which op of Graph::source this node was read from
};

// Where a graph came from: the format that read it keeps the original bytes here, to write what did not
// change back as it was.
struct Source {
  virtual ~Source() = default;
  // Gives mapped pages back to the system; they are read again when someone looks at them.
  virtual void release_memory() const {}
};

struct Graph {
  std::vector<Value> values;
  std::vector<Node> nodes;  // in an order in which they can run
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;
  std::shared_ptr<const Source> source;

  Value& value(ValueId id) { return values[static_cast<std::size_t>(id)]; }
  const Value& value(ValueId id) const { return values[static_cast<std::size_t>(id)]; }
  ValueId add_value(std::string name, DType dtype = DType::kFloat32, Shape shape = {});
  ValueId add_constant(std::string name, Tensor tensor);
  ValueId find_value(std::string_view name) const;  // kNoValue when there is none
};

// An attribute of a node, or the op table's default for it. T is an alternative of Attr, or float or int.
template <class T>
T attr(const Node& node, std::string_view name);

// For messages: `conv2d "conv2d_0.tmp_0"`, the op and its first output.
std::string describe(const Graph& graph, const Node& node);

// The graph as text, one line a node.
std::string dump(const Graph& graph);

// Throws an Error naming the first thing that is wrong: an unknown value, an input that nothing defines or
// that is defined later, two definitions, a wrong number of inputs or outputs, an attribute of the wrong
// type.
void verify(const Graph& graph);

}  // namespace octet
