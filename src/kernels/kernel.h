#pragma once
#include <span>

#include "base/threads.h"
#include "graph/graph.h"

namespace octet {

// What a kernel works on: one node, its inputs (null where an optional one is absent) and its outputs,
// allocated with the shapes that the op table inferred.
struct KernelArgs {
  const Node& node;
  std::span<const Tensor* const> inputs;
  std::span<Tensor> outputs;
  ThreadPool& pool;

  const Tensor* input(std::size_t i) const { return i < inputs.size() ? inputs[i] : nullptr; }
};

using Kernel = void (*)(const KernelArgs& args);

}  // namespace octet
