#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/file.h"
#include "tensor/tensor.h"

// Paddle's ProgramDesc, the message that a .pdmodel or __model__ file is. Everything looks into the bytes it
// was parsed from, which must outlive it; what octet doesn't interpret stays there and is written back from
// there.
namespace octet::paddle {

// Paddle's VarType.Type, as far as octet needs it.
enum VarTypeCode : int { kDenseTensor = 7, kFeedMinibatch = 9, kFetchList = 10, kReader = 15, kRaw = 17 };

int code_of(DType dtype);                      // the VarType.Type of an element type
bool dtype_from_code(int code, DType* dtype);  // false: one that octet has no use for

enum class AttrType : int {
  kInt = 0,
  kFloat = 1,
  kString = 2,
  kInts = 3,
  kFloats = 4,
  kStrings = 5,
  kBoolean = 6,
  kBooleans = 7,
  kBlock = 8,
  kLong = 9,
  kBlocks = 10,
  kLongs = 11,
  kFloat64s = 12,
  kVar = 13,
  kVars = 14,
  kFloat64 = 15,
  kScalar = 16,
  kScalars = 17,
};

struct AttrDesc {
  std::string_view name;
  AttrType type = AttrType::kInt;
  // Integers and booleans, floats (as double, exactly), a string, or lists of them. Strings, block and
  // variable attributes have none: an op that depends on one is not interpreted.
  std::variant<std::monostate, std::int64_t, double, std::string_view, std::vector<std::int64_t>,
               std::vector<double>>
      value;
};

struct Slot {
  std::string_view name;
  std::vector<std::string_view> arguments;  // names of variables
};

struct OpDesc {
  std::string_view type;
  std::vector<Slot> inputs, outputs;
  std::vector<AttrDesc> attrs;
  std::string_view bytes;

  const std::vector<std::string_view>& input(std::string_view slot) const;   // empty when absent
  const std::vector<std::string_view>& output(std::string_view slot) const;  // empty when absent
  const AttrDesc* find_attr(std::string_view name) const;
};

struct VarDesc {
  std::string_view name;
  int type = kDenseTensor;
  int data_type = -1;  // VarType.Type of the elements; -1: none declared
  Shape shape;
  bool persistable = false;
  std::string_view bytes;

  // Whether it has a record in the params file.
  bool is_parameter() const {
    return persistable && type != kFeedMinibatch && type != kFetchList && type != kReader && type != kRaw;
  }
};

struct Program {
  std::vector<VarDesc> vars;  // of the first block, like ops
  std::vector<OpDesc> ops;
  std::vector<std::string_view> other_blocks;  // the sub-blocks of control flow, not interpreted
  std::string block_rest;                      // the first block's other fields, as they are
  std::string program_rest;  // the program's other fields: version, op versions, unknown ones
};

// Throws an Error (without a file name) when the bytes are no program.
Program parse_program(std::string_view bytes);

struct TensorDesc {
  int data_type = -1;
  Shape shape;
};
TensorDesc parse_tensor_desc(std::string_view bytes);
std::string write_tensor_desc(const TensorDesc& desc);

// A new attribute of an op, in the type that Paddle declares for it.
struct NewAttr {
  std::string name;
  AttrType type;
  std::variant<std::int64_t, double, std::string, std::vector<std::int64_t>, std::vector<double>> value;
};

struct NewOp {
  std::string type;
  std::vector<std::pair<std::string, std::vector<std::string>>> inputs, outputs;
  std::vector<NewAttr> attrs;
};

std::string write_op(const NewOp& op);
std::string write_var(std::string_view name, int var_type, int data_type, const Shape& shape,
                      bool persistable);
// Whole messages of vars and ops into a program, with the rest of `original`, which may be null.
std::string write_program(const std::vector<std::string_view>& vars, const std::vector<std::string_view>& ops,
                          const Program* original);

}  // namespace octet::paddle
