#pragma once
#include <memory>
#include <string>
#include <vector>

#include "base/threads.h"
#include "graph/graph.h"
#include "kernels/kernel.h"

namespace octet {

struct ExecuteOptions {
  bool ir_optim = true;  // rewrite the graph to run faster; off: run it as it is
  std::string isa;       // "" is the best that there is
};

// A graph made ready to run. It does not change any more, so predictors share it.
struct Executable {
  struct Step {
    Kernel kernel = nullptr;  // null: the op can't run, and `why_not` says why
    std::string why_not;
    std::vector<ValueId> free_after;  // values that nobody needs after this step
  };
  Graph graph;
  std::vector<Step> steps;  // one a node
};

std::shared_ptr<const Executable> prepare(const Graph& graph, const ExecuteOptions& options);

// Runs the graph once. `inputs` are in the order of graph.inputs; the result in that of graph.outputs.
std::vector<Tensor> execute(const Executable& executable, const std::vector<Tensor>& inputs,
                            ThreadPool& pool);

}  // namespace octet
