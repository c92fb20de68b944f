#pragma once
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "formats/paddle3/definitions.h"
#include "formats/paddle3/program.h"
#include "formats/paddle3/spelling.h"
#include "formats/paddle_common/op_desc.h"

// Paddle 3's ops are the older files' ops under other names, with constants and lists as ops of their own. A
// row says how one becomes the other, both ways; what they mean in the graph is up to
// formats/paddle_common/op_map.h.
namespace octet::paddle3 {

using paddle::NewOp;
using paddle::OpDesc;

// The older ops that one op is. Values are named by their numbers: "%12"; one that only these ops know has a
// word behind that: "%12.quantized".
struct OldOps {
  std::vector<OpDesc> ops;
  std::deque<std::string> names;
  std::unordered_map<std::string_view, Type> inner_types;
  std::unordered_map<Id, Id> same;  // results that are other values, unchanged

  std::string_view name(Id id);
  std::string_view inner(Id id, std::string_view word, Type type);
};

struct Operand {
  enum class Kind : std::uint8_t {
    kTensor,
    kList,    // tensors, joined by combine
    kInts,    // whole numbers: an attribute of the older op, or one of its slots
    kNumber,  // one number: likewise
  };
  Kind kind;
  std::string_view slot = {};   // "": octet never uses it
  std::string_view attr = {};   // where a constant goes
  std::string_view items = {};  // the slot for numbers that are computed one by one
  DType dtype = DType::kInt32;  // of a number,
  bool has_dtype_of_x = false;  // unless it has that of the first input
};

struct AttrMap {
  std::string_view name;
  Tag tag;
  std::string_view old = {};  // the older op's attribute; "": it has none
  NewValue fallback = {};     // where the older op does not say
  std::int64_t since = 1;     // the version from which `tag` holds; before it, 32 bits do
};

struct Output {
  std::string_view slot = {};     // "": nobody reads it
  DType dtype = DType::kFloat32;  // of one that nobody reads
  std::size_t same_as = 0;        // the input that it is, unchanged; 0: none
  bool is_list = false;           // the row's function sees to it
};

class ProgramWriter;

struct OpMap {
  std::string_view name;  // Paddle 3's, without the number of the dialect
  std::string_view old;   // the older type; the first row with it is the one that writes
  std::vector<Operand> inputs;
  std::vector<AttrMap> attrs = {};
  std::vector<Output> outputs = {{"Out"}};
  // After the columns above were carried out: what they can't say. Throws an Error with the reason when the
  // older op can't say it either.
  void (*read)(const Definitions& values, const Op& op, OldOps& old) = nullptr;
  // In place of the columns above.
  void (*write)(ProgramWriter& out, const OpMap& row, const NewOp& op) = nullptr;
};

// The rows, by family.
std::vector<OpMap> numeric_rows();
std::vector<OpMap> shape_rows();
std::vector<OpMap> quantization_rows();

const OpMap* row_to_read(std::string_view name);   // null: octet does not know it
const OpMap* row_to_write(std::string_view type);  // null: Paddle 3 has no such op

// The older ops for an op. Errors are reasons why octet does not interpret it.
OldOps read_op(const OpMap& row, const Definitions& values, const Op& op);

// Rows are written with these.
inline Operand tensor(std::string_view slot) {
  return {.kind = Operand::Kind::kTensor, .slot = slot};
}
inline Operand list(std::string_view slot) {
  return {.kind = Operand::Kind::kList, .slot = slot};
}
inline Operand ints(std::string_view attr, std::string_view slot = {}, std::string_view items = {}) {
  return {.kind = Operand::Kind::kInts, .slot = slot, .attr = attr, .items = items};
}
inline Operand number(std::string_view attr, std::string_view slot, DType dtype) {
  return {.kind = Operand::Kind::kNumber, .slot = slot, .attr = attr, .dtype = dtype};
}
inline Operand number_like_x(std::string_view attr, std::string_view slot) {
  return {.kind = Operand::Kind::kNumber, .slot = slot, .attr = attr, .has_dtype_of_x = true};
}

// For the read functions of rows.
void set_attr(OpDesc& op, std::string_view name, decltype(paddle::AttrDesc::value) value);
std::vector<std::string_view>& slot(OpDesc& op, std::string_view name);  // made if need be
// The values that other ops take from a list of results, kAbsent for what nobody takes. Those that are taken
// twice go into old.same.
std::vector<Id> take_apart(const Definitions& values, const Result& list, OldOps& old);

}  // namespace octet::paddle3
