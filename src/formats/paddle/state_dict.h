#pragma once
#include <filesystem>
#include <memory>
#include <string_view>

#include "formats/paddle/pickle.h"

// The files of paddle.save: *.pdparams (the parameters of a network, by their names in it) and *.pdopt (the
// state of an optimizer, and of its learning rate).

namespace octet::paddle {

// Tensors are views of the mapped file.
StateDict load_state_dict(const std::filesystem::path& path);
// The same for bytes in memory, kept alive by `owner`; `source` is what errors call them.
StateDict read_state_dict(Bytes bytes, std::shared_ptr<const void> owner, std::string_view source);

// paddle.load and set_state_dict of Paddle 2.6 and 3.3 take the file.
void add_state_dict(AtomicFiles& files, const std::filesystem::path& path, const StateDict& state);

}  // namespace octet::paddle
