#pragma once
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "formats/paddle/pickle.h"

// The files of paddle.save: *.pdparams (the parameters of a network, by their names in it) and *.pdopt (the
// state of an optimizer, and of its learning rate).
//
//   StateDict state = load_state_dict("mobilenet_v3_small.pdparams");
//   const Tensor& weight = state.at("conv.0.weight");
//   state.set("epoch", {std::int64_t{3}});
//   save_state_dict("copy.pdparams", state);

namespace octet::paddle {

struct StateDict {
  struct Item {
    std::string name;
    pickle::PyValue value;  // most often a Tensor
  };
  // The name that Paddle's graph has for a parameter: "conv2d_0.w_0" for "0.weight".
  struct ParameterName {
    std::string name, parameter;
  };

  std::vector<Item> items;  // in the file's order
  // Paddle gives the parameters these names when it loads the file.
  std::vector<ParameterName> parameter_names;

  // The tensor of that name, nullptr when there is none. Paddle stores it alone, or with its name in a tuple.
  const Tensor* find(std::string_view name) const;
  const Tensor& at(std::string_view name) const;           // an Error when there is none
  void set(std::string_view name, pickle::PyValue value);  // replaces, or adds at the end
};

// Tensors are views of the mapped file.
StateDict load_state_dict(const std::filesystem::path& path);
// The same for bytes in memory, kept alive by `owner`; `source` is what errors call them.
StateDict read_state_dict(Bytes bytes, std::shared_ptr<const void> owner, std::string_view source);

// paddle.load and set_state_dict of Paddle 2.6 and 3.3 take the file.
void save_state_dict(const std::filesystem::path& path, const StateDict& state);
// The same, together with other files.
void add_state_dict(AtomicFiles& files, const std::filesystem::path& path, const StateDict& state);

}  // namespace octet::paddle
