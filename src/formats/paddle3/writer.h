#pragma once
#include <initializer_list>
#include <map>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "formats/paddle3/op_map.h"
#include "formats/paddle3/source.h"
#include "graph/graph.h"

namespace octet::paddle3 {

// Writes a graph down as the ops of a program. Rows of the op map write through the part that comes first.
class ProgramWriter {
 public:
  ProgramWriter(const Graph& graph, const paddle::Changes& changes, const Paddle3Source* source);

  // The columns of a row. Outputs of the older op are written under the ids in `outputs`, if given.
  void write_row(const OpMap& row, const NewOp& op, const std::vector<Id>& outputs = {});

  Id operand(const Operand& operand, const NewOp& op);
  std::vector<NewAttr> attrs_of(const OpMap& row, const NewOp& op) const;

  // The value in an older op's slot; kAbsent when it is empty.
  Id input(const NewOp& op, std::string_view slot);
  Id output(const NewOp& op, std::string_view slot = "Out") { return id(argument(op.outputs, slot)); }
  const Value& value_in(const NewOp& op, std::string_view slot) const;  // what must be there
  const Value& value_out(const NewOp& op, std::string_view slot = "Out") const;

  // New ops, each with one result; `out` is its number where it has one already.
  Id op(std::string_view name, const std::vector<Id>& inputs, const std::vector<NewAttr>& attrs, DType dtype,
        const Shape& dims, Id out = kAbsent);
  Id ints(std::vector<std::int64_t> values);
  Id number(double value, DType dtype);
  Id list(const std::vector<std::string>& names);
  // Numbers that are computed one by one, as a vector.
  Id vector_of(const std::vector<std::string>& names);
  // A list of tensors, each for an output of the older op.
  void split_list(Id list, const std::vector<std::string>& names);
  void emit(std::string_view name, const std::vector<Id>& inputs, const std::vector<NewAttr>& attrs,
            const std::vector<NewResult>& outputs);
  Id fresh() { return next_++; }
  Id id(const std::string& name);
  const Value& value(std::string_view name) const;
  static std::string type_of(const Value& value) { return type_text(value.dtype, value.shape); }

  std::string write();
  // The constants that the written ops use, by sorted name.
  const std::map<std::string, const Value*>& constants() const { return constants_; }
  // Parameters of the file that only ops use which were written as they were read.
  const std::map<std::string, const paddle::Param*>& kept_params() const { return kept_params_; }

 private:
  using Names = std::vector<std::pair<std::string, std::vector<std::string>>>;
  static const std::string& argument(const Names& slots, std::string_view slot);

  void write_inputs();
  void write_node(std::size_t index);
  void write_outputs();
  bool write_as_pair(const Node& dequantize);
  bool is_taken_by_pairs(const Node& quantize) const;
  const Node* quantizer_of(const Node& dequantize) const;

  const Group* original_group(std::size_t index) const;
  void write_original(std::size_t op);
  void need_original(Id id);
  void keep_parameter(const Op& op);

  Graph graph_;
  const paddle::Changes& changes_;
  const Paddle3Source* source_;
  std::int64_t version_ = kWrittenVersion;
  Id next_ = 1;
  std::unordered_map<std::string_view, const Value*> values_;
  std::unordered_map<std::string, Id> ids_;
  std::unordered_map<ValueId, std::size_t> makers_;                // nodes
  std::unordered_map<ValueId, std::vector<std::size_t>> readers_;  // nodes
  std::unordered_set<Id> written_;
  std::map<std::string, const Value*> constants_;
  std::map<std::string, const paddle::Param*> kept_params_;
  std::vector<std::string> parameters_, ops_;
};

}  // namespace octet::paddle3
