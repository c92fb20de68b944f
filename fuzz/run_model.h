#pragma once
#include "formats/format.h"
#include "runtime/executor.h"
#include "runtime/plan.h"
#include "survive.h"

namespace octet {

// Prepares a model, plans its memory for small inputs and, unless that would be much work, runs it. One that
// is read but makes no sense has to be refused by then, with an Error.
inline void prepare_and_run(const Graph& graph, const ExecuteOptions& options) {
  constexpr std::int64_t kMaxInput = 1 << 14, kMaxWork = 1 << 22;
  constexpr std::size_t kMaxArena = 64 << 20;
  survive([&] {
    static ThreadPool pool(1);
    std::vector<Tensor> inputs;
    std::vector<Shape> shapes;
    for (ValueId id : graph.inputs) {
      const Value& value = graph.value(id);
      Shape shape = value.shape;
      for (std::size_t i = 0; i < shape.size(); ++i)
        if (shape[i] < 0) shape[i] = i == 0 ? 1 : 8;
      if (element_count(shape) > kMaxInput) return;
      Tensor tensor(value.dtype, shape);
      std::ranges::fill(tensor.mutable_bytes(), std::byte{0});
      inputs.push_back(tensor);
      shapes.push_back(std::move(shape));
    }
    const std::shared_ptr<const Executable> executable = prepare(graph, options);
    const Plan plan = make_plan(*executable, shapes, pool);
    std::int64_t work = 0;
    for (const Node& node : executable->graph.nodes) {
      if (!find_op(node.op)) return;
      for (ValueId id : node.outputs) {
        if (id == kNoValue) continue;
        const Shape& shape = plan.infos[static_cast<std::size_t>(id)].shape;
        if (!is_known(shape)) return;
        work += std::min(element_count(shape), kMaxWork);
        work += std::min(multiply_adds(executable->graph, node, shape), kMaxWork);
        if (work > kMaxWork) return;
      }
    }
    if (plan.arena_bytes > kMaxArena) return;
    Session(executable, pool).run(inputs);
  });
}

// As it is with the reference kernels, and rewritten with the fastest ones.
inline void prepare_and_run(const Graph& graph) {
  prepare_and_run(graph, {.ir_optim = false, .isa = "ref"});
  prepare_and_run(graph, {});
}

}  // namespace octet
