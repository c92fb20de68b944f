#pragma once
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "formats/paddle/pickle.h"

// The inside of the pickle reader: the objects of the machine while it runs.

namespace octet::pickle {

// Every opcode adds at most one object, reference or mark, so this bounds the memory and the time. Paddle
// writes about forty opcodes for a tensor.
constexpr std::size_t kMaxOpcodes = std::size_t{1} << 22;

// The functions that a pickle may name. NumPy 2 calls numpy.core numpy._core; Python 2 called builtins
// __builtin__, and protocol 2 still does.
enum class Function {
  kReconstruct,
  kFromBuffer,
  kScalar,
  kNdarray,
  kDType,
  kEncode,
  kBytes,
  kOrderedDict,
  kTuple
};

// An object of the running machine. Collections hold references, since Python's share their parts; they may
// even contain themselves. All objects live in the machine's arena, so no cycle can leak.
struct Object;
using Ref = Object*;

struct Text {
  std::string_view text;
};
struct Blob {
  Bytes bytes;
  std::shared_ptr<const void> owner;
};
struct Tuple {
  std::vector<Ref> items;
};
struct List {
  std::vector<Ref> items;
};
struct Dict {
  std::vector<Ref> items;  // key, value, key, value, ...
};
struct NumpyType {
  std::string_view code;
  char order = '=';
};
struct Array {
  std::optional<Tensor> tensor;  // nothing between the call of _reconstruct and BUILD
};

struct Object {
  std::variant<std::monostate, bool, std::int64_t, double, Text, Blob, Tuple, List, Dict, Function, NumpyType,
               Array>
      data;
};

// The result as a tree, in which parts that Python shares are repeated, within limits that follow from the
// size of the file. Errors start with `where`.
StateValue to_state_value(Ref root, std::size_t file_bytes, std::string_view where);

}  // namespace octet::pickle
