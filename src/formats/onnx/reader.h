#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "formats/onnx/proto.h"
#include "graph/graph.h"

// What a row of the import table sees: one ONNX node, and the graph that it becomes a part of.
namespace octet::onnx {

class Importer;
using Ints = std::vector<std::int64_t>;

class Reader {
 public:
  Reader(Importer& importer, const NodeProto& node, std::int64_t opset,
         std::span<const AttributeProto> attributes, std::vector<ValueId> inputs)
      : importer_(importer),
        node_(node),
        opset_(opset),
        attributes_(attributes),
        inputs_(std::move(inputs)) {}

  std::int64_t opset() const { return opset_; }
  std::string_view type() const { return node_.type; }

  // Inputs, of which absent ones are kNoValue. `in` fails when there is none.
  std::size_t input_count() const { return inputs_.size(); }
  bool has(std::size_t i) const { return i < inputs_.size() && inputs_[i] != kNoValue; }
  ValueId maybe(std::size_t i) const { return has(i) ? inputs_[i] : kNoValue; }
  ValueId in(std::size_t i) const;
  const std::vector<ValueId>& inputs() const { return inputs_; }
  std::size_t output_count() const { return node_.outputs.size(); }
  bool wants(std::size_t i) const { return i < node_.outputs.size() && !node_.outputs[i].empty(); }

  // Attributes. An Error when one is of another type, or is needed and not there.
  const AttributeProto* find(std::string_view name) const;
  std::int64_t integer(std::string_view name, std::optional<std::int64_t> fallback = {}) const;
  double real(std::string_view name, double fallback) const;
  std::string text(std::string_view name, std::string_view fallback) const;
  std::optional<Ints> ints(std::string_view name) const;
  std::optional<std::vector<double>> reals(std::string_view name) const;
  DType dtype_attribute(std::string_view name) const;  // `to` of Cast and its like

  // What is known of a value.
  bool has_rank(ValueId id) const;
  const Shape& shape(ValueId id) const;  // an Error when not even its rank is known
  std::size_t rank(ValueId id) const { return shape(id).size(); }
  DType dtype(ValueId id) const;
  const Tensor* constant(ValueId id) const;                    // null: none
  Ints need_ints(std::size_t i, std::string_view what) const;  // of a constant input
  // A list that older opsets have as an attribute and newer ones as input i; nothing when it is absent.
  std::optional<Ints> list(std::size_t i, std::string_view name) const;
  // `axis` counted from the front of `rank` dimensions; an Error when there is no such dimension.
  static std::int64_t axis(std::int64_t axis, std::size_t rank);

  // Adds nodes. What is made of constants alone is computed at once.
  ValueId emit(const std::string& op, std::vector<ValueId> inputs, Attrs attrs = {});
  std::vector<ValueId> emit_multi(const std::string& op, std::vector<ValueId> inputs, Attrs attrs,
                                  std::size_t outputs);
  ValueId add(Tensor constant);
  // Which value an output of the node is.
  void result(ValueId id, std::size_t output = 0);
  const std::vector<ValueId>& results() const { return results_; }

  Tensor read_tensor(const AttributeProto& attribute);

 private:
  Importer& importer_;
  const NodeProto& node_;
  std::int64_t opset_;
  std::span<const AttributeProto> attributes_;
  std::vector<ValueId> inputs_, results_;
};

struct ReadRow {
  std::string_view type;        // ONNX's name
  int since = 1;                // the first opset in which it means what octet reads
  std::string_view octet = {};  // of rows that say the same under another name
  void (*read)(Reader& reader, const ReadRow& row) = nullptr;
  std::string_view note = {};  // what is not read, for docs/onnx.md
};

// All rows, by family.
std::span<const ReadRow> read_table();
const ReadRow* find_row(std::string_view type);

}  // namespace octet::onnx
