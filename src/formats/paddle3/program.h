#pragma once
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "tensor/tensor.h"

// Paddle 3's program, the JSON text of an inference.json file: docs/paddle3-format.md. Everything looks into
// the text it was parsed from, which must outlive it; what octet doesn't interpret is written back from
// there.
namespace octet::paddle3 {

// A value of the program. 0 stands for an optional input that is absent.
using Id = std::int64_t;
constexpr Id kAbsent = 0;

struct Type {
  bool is_tensor = false;  // otherwise a list of tensors, nothing, or what octet has no use for
  bool has_dtype = false;  // whether octet has this element type
  DType dtype = DType::kFloat32;
  Shape dims;             // negative where only a run decides
  std::size_t items = 0;  // of a list of tensors
};

struct Result {
  Id id = kAbsent;
  Type type;
};

using AttrValue = std::variant<std::monostate, std::int64_t, double, std::string_view,
                               std::vector<std::int64_t>, std::vector<double>>;

struct Attr {
  std::string_view name;
  AttrValue value;  // booleans are integers; of an empty list, a list of integers
};

struct Op {
  std::string_view name;  // with the number of its dialect: "1.conv2d"; "p" for a parameter
  std::string_view text;  // the whole object
  std::vector<Id> inputs;
  std::vector<Result> outputs;
  std::vector<Attr> attrs;
  std::vector<Id> captured;             // what blocks inside it read and do not define
  std::vector<std::vector<Op>> blocks;  // those of control flow
  std::string_view parameter = {};      // a parameter's name
  bool is_persistable = false;          // a parameter with a record in the params file

  const Attr* find_attr(std::string_view attr) const;
};

struct Program {
  std::int64_t version = 0;      // of the file format: 1 for Paddle 3.0 to 4 for 3.3
  std::vector<Op> ops;           // of the one block
  std::string_view head, tail;   // the text before the first op and behind the last
  std::deque<std::string> kept;  // texts that the file has with escapes
};

// Throws an Error (without a file name) when the text is no program. Control flow whose condition is a
// constant is replaced by the ops of the block that runs; the text of the rest stays as it is.
Program parse_program(std::string_view text);
// Whether a file begins like one. For a quick look: the rest may be damaged.
bool begins_like_program(std::string_view text);

}  // namespace octet::paddle3
