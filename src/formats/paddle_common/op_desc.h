#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "tensor/tensor.h"

// An op as a ProgramDesc has it: a type, variables in named slots, attributes. Paddle 3's files spell the
// same ops otherwise (formats/paddle3); both go through the op map in these words.
namespace octet::paddle {

// VarType.Type, Paddle's numbers for element types.
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

}  // namespace octet::paddle
