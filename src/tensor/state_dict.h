#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "tensor/tensor.h"

// Parameters of a network, and the state of a run, by name: what checkpoints hold.
//
//   StateDict state = load_state_dict("mobilenet_v3_small.pdparams");
//   const Tensor& weight = state.at("conv.0.weight");
//   state.set("epoch", {std::int64_t{3}});

namespace octet {

struct StateValue;
struct StateEntry;

struct StateBytes {
  std::string bytes;
};
struct StateList {
  std::vector<StateValue> items;
};
struct StateTuple {
  std::vector<StateValue> items;
};
// In the file's order. Keys that are text occur once.
struct StateMap {
  std::vector<StateEntry> entries;

  const StateValue* find(std::string_view key) const;  // nullptr when there is none
};

// Nothing (monostate), a number, text, bytes, a tensor or a collection of values.
struct StateValue {
  using Data = std::variant<std::monostate, bool, std::int64_t, double, std::string, StateBytes, Tensor,
                            StateList, StateTuple, StateMap>;
  Data data;

  template <class T>
  const T* get_if() const {
    return std::get_if<T>(&data);
  }
  // The tensor, also of a pair of its name and it; nullptr when it is something else.
  const Tensor* tensor() const;
  std::string_view type_name() const;  // "a dictionary", "an array", ...: for messages
};

struct StateEntry {
  StateValue key, value;
};

struct StateDict {
  struct Item {
    std::string name;
    StateValue value;  // most often a Tensor
  };
  // The name that a program's variable has for a parameter: "conv2d_0.w_0" for "0.weight".
  struct ParameterName {
    std::string name, parameter;
  };

  std::vector<Item> items;  // in the file's order
  std::vector<ParameterName> parameter_names;

  const Tensor* find(std::string_view name) const;    // nullptr when there is no tensor of that name
  const Tensor& at(std::string_view name) const;      // an Error when there is none
  void set(std::string_view name, StateValue value);  // replaces, or adds at the end
};

}  // namespace octet
