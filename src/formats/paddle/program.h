#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/file.h"
#include "formats/paddle_common/op_desc.h"
#include "tensor/tensor.h"

// Paddle's ProgramDesc, the message that a .pdmodel or __model__ file is. Everything looks into the bytes it
// was parsed from, which must outlive it; what octet doesn't interpret stays there and is written back from
// there.
namespace octet::paddle {

// Paddle's VarType.Type, as far as octet needs it.
enum VarTypeCode : int { kDenseTensor = 7, kFeedMinibatch = 9, kFetchList = 10, kReader = 15, kRaw = 17 };

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

std::string write_op(const NewOp& op);
std::string write_var(std::string_view name, int var_type, int data_type, const Shape& shape,
                      bool persistable);
// Whole messages of vars and ops into a program, with the rest of `original`, which may be null.
std::string write_program(const std::vector<std::string_view>& vars, const std::vector<std::string_view>& ops,
                          const Program* original);

}  // namespace octet::paddle
