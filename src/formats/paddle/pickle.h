#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/file.h"
#include "tensor/tensor.h"

// Python pickles, as far as Paddle's *.pdparams and *.pdopt files need them.
//
// A pickle is a program for a stack machine that may call any Python function. The machine here knows a short
// list of them (those that make arrays, tuples, ordered dictionaries and byte strings) and computes their
// results itself; a pickle that names any other function is an error that says which. Nothing is ever
// executed.

namespace octet::pickle {

struct PyValue;
struct PyEntry;

struct PyBytes {
  std::string bytes;
};
struct PyList {
  std::vector<PyValue> items;
};
struct PyTuple {
  std::vector<PyValue> items;
};
// In the file's order, as Python keeps it. Keys that are text occur once.
struct PyDict {
  std::vector<PyEntry> entries;

  const PyValue* find(std::string_view key) const;  // nullptr when there is none
};

// A Python value: None (monostate), a number, text, bytes, an array or a collection of values. NumPy's uint16
// arrays are bfloat16 tensors, for that is how Paddle saves those.
struct PyValue {
  using Data = std::variant<std::monostate, bool, std::int64_t, double, std::string, PyBytes, Tensor, PyList,
                            PyTuple, PyDict>;
  Data data;

  template <class T>
  const T* get_if() const {
    return std::get_if<T>(&data);
  }
  std::string_view type_name() const;  // "a dictionary", "an array", ...: for messages
};

struct PyEntry {
  PyValue key, value;
};

// Reads protocols 2 to 5. Arrays are views of the mapped file, except those of protocol 2 (which stores them
// as text) and those in Fortran order.
PyValue load(const std::filesystem::path& path);
// The same for bytes in memory, kept alive by `owner`; `source` is what errors call them.
PyValue read(Bytes bytes, std::shared_ptr<const void> owner, std::string_view source);

// Writes protocol 4, without a memo: what Python wrote and octet read is written equal, not byte for byte.
void save(const std::filesystem::path& path, const PyValue& value);
// The same, together with other files.
void add(AtomicFiles& files, const std::filesystem::path& path, const PyValue& value);

// How deep collections may nest, in files that are read and written.
constexpr int kMaxDepth = 32;

// Text from a file as a message may show it: on one line, and not long.
std::string printable(std::string_view text);

}  // namespace octet::pickle
