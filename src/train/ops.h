#pragma once
#include <span>
#include <string_view>
#include <vector>

#include "graph/graph.h"
#include "train/torch.h"

// The ops of the graph on libtorch, with gradients. docs/ops.md says what they compute.
namespace octet::train {

// What a training step is, for what depends on it: which units a dropout drops follows from the step and the
// place of the sample in the batch of all processes, so it does not depend on how many there are, and a step
// can be repeated.
struct Step {
  std::uint64_t seed = 0;
  std::int64_t number = 0;
  int rank = 0;  // sample i here is sample i * world + rank of all
  int world = 1;
};

struct Call {
  const Node& node;
  std::span<const at::Tensor> inputs;  // not defined: absent
  bool training = false;
  Step step = {};

  const at::Tensor& x() const { return inputs[0]; }
  const at::Tensor* optional(std::size_t i) const {
    return i < inputs.size() && inputs[i].defined() ? &inputs[i] : nullptr;
  }
};

using Operation = std::vector<at::Tensor> (*)(const Call& call);

// An activation function of graph/activation.h by the value and gradient of its row: what those run through
// of which libtorch has no routine.
std::vector<at::Tensor> table_activation(const Call& call);

// Null: libtorch can't do this one. batch_norm is the network's own, for it has a state.
Operation find_operation(std::string_view op);
std::vector<std::string_view> operations();

}  // namespace octet::train
