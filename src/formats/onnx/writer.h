#pragma once
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#include "formats/onnx/proto.h"
#include "graph/graph.h"
#include "graph/op_table.h"
#include "graph/quantization.h"

// A graph as ONNX nodes. A row of the export table writes one node of octet's as one or several of ONNX's.
namespace octet::onnx {

struct OnnxSource;
using Ints = std::vector<std::int64_t>;
using WrittenAttr = std::variant<std::int64_t, double, std::string, Ints, Tensor>;
using WrittenAttrs = std::vector<std::pair<std::string, WrittenAttr>>;

// For which runtimes the quantized form is made; docs/onnx.md says what each wants.
enum class Target : std::uint8_t { kCpu, kTensorRt, kCommon };

// A tensor in a file.
struct Initializer {
  std::string name;
  Tensor tensor;
  ElementType type;  // of 4-bit integers another one than the tensor's
};

// How a value is held as integers in the file.
struct WrittenQuantization {
  std::string scale, zero_point;  // the names of their tensors; "": it is not
  std::vector<float> steps;
  std::int64_t axis = -1;
  DType dtype = DType::kInt8;
  std::string dequantized = {};  // of integers: the floats that a DequantizeLinear has made of them; "": none
};

class Writer {
 public:
  Writer(const Graph& graph, std::int64_t opset, Target target);

  // All nodes, by their rows; an Error names the first that ONNX, in this opset, has no words for.
  void write_nodes();

  // What follows is for rows, about the current node.
  std::int64_t opset() const { return opset_; }
  Target target() const { return target_; }
  const Graph& graph() const { return graph_; }
  const Node& node() const { return *node_; }

  bool has(std::string_view slot) const { return input_of(node(), slot) != kNoValue; }
  std::string in(std::size_t i = 0);  // its name; "" when it is absent
  std::string in(std::string_view slot);
  std::string out(std::size_t i = 0);  // "" when nobody reads it
  const Value& value(std::size_t i) const { return graph_.value(node().inputs.at(i)); }
  bool has_rank(ValueId id) const { return ranked_[static_cast<std::size_t>(id)]; }
  std::size_t rank(std::size_t i = 0) const;  // an Error when it is not known

  std::string name_of(ValueId id);
  std::string emit(const std::string& type, std::vector<std::string> inputs, WrittenAttrs attrs = {});
  void emit_to(const std::string& type, std::vector<std::string> inputs, std::vector<std::string> outputs,
               const WrittenAttrs& attrs = {}, std::string_view domain = {});
  std::string constant(Tensor tensor, std::optional<ElementType> type = {});
  std::string number(double value, DType dtype = DType::kFloat32);
  std::string list(const Ints& values);
  // A number or list of integers of any integer type, as int64, of one dimension.
  std::string as_int64(std::size_t i);

  // The messages.
  const std::vector<std::string>& nodes() const { return nodes_; }
  const std::vector<Initializer>& initializers() const { return initializers_; }
  std::string value_info(ValueId id);  // name, type and shape

  // Another value that is the same as one that has this name: those who read it read that one.
  void alias(ValueId id, std::string name) { names_[static_cast<std::size_t>(id)] = std::move(name); }
  const Node* maker(ValueId id) const { return makers_[static_cast<std::size_t>(id)]; }  // null: none
  std::span<const Node* const> readers(ValueId id) const { return readers_[static_cast<std::size_t>(id)]; }
  bool is_output(ValueId id) const { return std::ranges::find(graph_.outputs, id) != graph_.outputs.end(); }
  double least(ValueId id) const { return least_[static_cast<std::size_t>(id)]; }  // least_values
  WrittenQuantization& integers(ValueId id) { return integers_[static_cast<std::size_t>(id)]; }
  ElementType type_of(const std::string& constant) const;  // of one that `constant` made
  // The node that is written as a part of this one; null: none.
  const Node* absorbed_by(const Node& node) const;

 private:
  void write_foreign();

  Graph graph_;
  std::int64_t opset_;
  Target target_;
  const OnnxSource* source_ = nullptr;
  const Node* node_ = nullptr;
  std::vector<bool> ranked_;
  std::vector<std::string> names_;  // one per value; "": none yet
  std::unordered_set<std::string> taken_;
  std::string base_;  // of the names of what the current node needs besides
  std::vector<std::string> nodes_;
  std::vector<Initializer> initializers_;
  std::set<ValueId> written_constants_;
  std::vector<const Node*> makers_;                // one per value
  std::vector<std::vector<const Node*>> readers_;  // one per value
  std::map<const Node*, const Node*> absorbed_;    // with the node that each is a part of
  std::vector<WrittenQuantization> integers_;      // one per value
  std::vector<double> least_;                      // one per value
};

// Nodes that ONNX has inside of another, with that one.
std::map<const Node*, const Node*> absorbed_nodes(const Writer& w);

// For each value, the least number that it can be; of integers that a quantize node makes, the least that
// they must represent.
std::vector<double> least_values(const Writer& w);
// Whether a quantization of octet's may get a zero point in the file.
bool can_be_shifted(const Quantization& how);
// Where its integers then begin, as a part of the largest number: above -1 if that makes the step smaller.
double gained_range(const Quantization& how, double least);
// What the step of a quantize node is multiplied with in the file.
double step_ratio(const Writer& w, const Node& quantize, const Quantization& how);

// The largest integer that a bias may be, which leaves as much to the sum itself.
constexpr double kLargestBias = 1 << 30;
// Weights, and their steps, with which no bias is larger.
std::vector<std::pair<ValueId, Tensor>> guarded_weights(const Writer& w);

// The node of a convolution, and what its result needs for ONNX Runtime to compute it with integers.
void emit_convolution(Writer& w, const std::string& type, std::vector<std::string> inputs,
                      const WrittenAttrs& attrs);

// The bias of a convolution or product as int32, dequantized; "" where it stays a float.
std::string integer_bias(Writer& w);

struct WriteRow {
  std::string_view octet;
  void (*write)(Writer& w);
};

std::vector<WriteRow> numeric_writers();
std::vector<WriteRow> shape_writers();
std::vector<WriteRow> sequence_writers();
std::vector<WriteRow> quantization_writers();
const WriteRow* find_writer(std::string_view octet);  // null: ONNX has no such op

// The message of a tensor: with its data, or with where it lies in a file beside the model.
std::string write_tensor(const Initializer& tensor);
std::string write_external_tensor(const Initializer& tensor, std::string_view location, std::uint64_t offset,
                                  std::uint64_t size);
std::string packed_data(const Initializer& tensor);  // as it lies in a file

}  // namespace octet::onnx
