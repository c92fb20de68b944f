#pragma once
#include "runtime/executor.h"

namespace octet {

// Where everything lies during a run with inputs of certain shapes: one arena, in which buffers whose lives
// do not overlap share memory. Values whose shape only the run itself decides are not in it.
struct Plan {
  struct Slot {
    std::int64_t offset = -1;  // in the arena; -1: not there
    std::size_t bytes = 0;
  };
  std::vector<ValueInfo> infos;    // one a value; kUnknown where only the run decides
  std::deque<Tensor> known;        // elements of shape computations, which need not run
  std::vector<Slot> values;        // one a value
  std::vector<Slot> scratch;       // one a step
  std::vector<bool> skip;          // one a step: its results are known, or lie where its input lies
  std::size_t arena_bytes = 0;     // what is needed at once
  std::size_t unshared_bytes = 0;  // what it would be without reuse
};

// Constants are computed this way: a single node with one output, by its reference kernel.
bool evaluate(const Node& node, const std::vector<const Tensor*>& inputs, Tensor* output);

Plan make_plan(const Executable& executable, const std::vector<Shape>& inputs, ThreadPool& pool);

}  // namespace octet
