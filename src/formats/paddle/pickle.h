#pragma once
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "base/file.h"
#include "tensor/state_dict.h"

// Python pickles, as far as Paddle's *.pdparams and *.pdopt files need them.
//
// A pickle is a program for a stack machine that may call any Python function. The machine here knows a short
// list of them (those that make arrays, tuples, ordered dictionaries and byte strings) and computes their
// results itself; a pickle that names any other function is an error that says which. Nothing is ever
// executed.

namespace octet::pickle {

// NumPy's uint16 arrays are bfloat16 tensors, for that is how Paddle saves those.
//
// Reads protocols 2 to 5. Arrays are views of the mapped file, except those of protocol 2 (which stores them
// as text) and those in Fortran order.
StateValue load(const std::filesystem::path& path);
// The same for bytes in memory, kept alive by `owner`; `source` is what errors call them.
StateValue read(Bytes bytes, std::shared_ptr<const void> owner, std::string_view source);

// Writes protocol 4, without a memo: what Python wrote and octet read is written equal, not byte for byte.
void add(AtomicFiles& files, const std::filesystem::path& path, const StateValue& value);

// How deep collections may nest, in files that are read and written.
constexpr int kMaxDepth = 32;

// Text from a file as a message may show it: on one line, and not long.
std::string printable(std::string_view text);

}  // namespace octet::pickle
