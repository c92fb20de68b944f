#include "runtime/executor.h"

#include "graph/op_table.h"
#include "kernels/dispatch.h"
#include "passes/passes.h"

namespace octet {

namespace {

// A single tensor of a run: a model that asks for more is broken, or meant to harm.
constexpr std::int64_t kMaxTensorBytes = std::int64_t{1} << 32;

// Kernels read constants in place, so those that a file holds at odd addresses are copied. The pages of the
// file are given back on the way: in the end memory holds each weight once.
void align_constants(Graph& graph) {
  constexpr std::size_t kReleaseEvery = 8 << 20;
  std::size_t copied = 0;
  for (Value& value : graph.values) {
    if (!value.is_constant()) continue;
    value.constant = value.constant.aligned();
    copied += value.constant.size_bytes();
    if (copied < kReleaseEvery || !graph.source) continue;
    graph.source->release_memory();
    copied = 0;
  }
}

std::vector<std::vector<ValueId>> find_last_uses(const Graph& graph) {
  std::vector<int> last(graph.values.size(), -1);
  for (std::size_t step = 0; step < graph.nodes.size(); ++step) {
    for (ValueId id : graph.nodes[step].inputs)
      if (id != kNoValue) last[static_cast<std::size_t>(id)] = static_cast<int>(step);
    for (ValueId id : graph.nodes[step].outputs)
      if (id != kNoValue) last[static_cast<std::size_t>(id)] = static_cast<int>(step);
  }
  for (ValueId id : graph.outputs) last[static_cast<std::size_t>(id)] = -1;
  std::vector<std::vector<ValueId>> free_after(graph.nodes.size());
  for (std::size_t id = 0; id < last.size(); ++id)
    if (last[id] >= 0 && !graph.values[id].is_constant())
      free_after[static_cast<std::size_t>(last[id])].push_back(static_cast<ValueId>(id));
  return free_after;
}

std::string reason(const Node& node) {
  auto it = node.attrs.find("reason");
  return it == node.attrs.end() ? "octet does not know this op" : std::get<std::string>(it->second);
}

Tensor allocate(const Graph& graph, const Node& node, const ValueInfo& info) {
  if (element_count(info.shape) > kMaxTensorBytes / static_cast<std::int64_t>(size_of(info.dtype)))
    fail("{}: its output of shape {} needs more than {} GB", describe(graph, node), to_string(info.shape),
         kMaxTensorBytes >> 30);
  return Tensor(info.dtype, info.shape);
}

void run_step(const Executable& executable, std::size_t step, std::vector<Tensor>& values, ThreadPool& pool) {
  const Graph& graph = executable.graph;
  const Node& node = graph.nodes[step];
  const Executable::Step& plan = executable.steps[step];
  if (!plan.kernel) fail("{}: {}", describe(graph, node), plan.why_not);

  std::vector<ValueInfo> infos(node.inputs.size());
  std::vector<const ValueInfo*> info_pointers(node.inputs.size(), nullptr);
  std::vector<const Tensor*> inputs(node.inputs.size(), nullptr);
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.inputs[i] == kNoValue) continue;
    inputs[i] = &values[static_cast<std::size_t>(node.inputs[i])];
    infos[i] = {inputs[i]->dtype(), inputs[i]->shape(), inputs[i]};
    info_pointers[i] = &infos[i];
  }
  std::vector<ValueInfo> out_infos(node.outputs.size());
  infer_node(graph, node, info_pointers, out_infos);
  std::vector<Tensor> outputs;
  for (const ValueInfo& info : out_infos) outputs.push_back(allocate(graph, node, info));
  plan.kernel({node, inputs, outputs, pool});
  for (std::size_t i = 0; i < node.outputs.size(); ++i)
    if (node.outputs[i] != kNoValue)
      values[static_cast<std::size_t>(node.outputs[i])] = std::move(outputs[i]);
}

}  // namespace

std::shared_ptr<const Executable> prepare(const Graph& graph, const ExecuteOptions& options) {
  std::string_view isa = choose_isa(options.isa);
  auto executable = std::make_shared<Executable>();
  executable->graph = graph;
  if (options.ir_optim) optimize(executable->graph);
  align_constants(executable->graph);
  std::vector<std::vector<ValueId>> free_after = find_last_uses(executable->graph);
  for (std::size_t i = 0; i < executable->graph.nodes.size(); ++i) {
    const Node& node = executable->graph.nodes[i];
    Executable::Step step;
    step.free_after = std::move(free_after[i]);
    step.kernel = find_op(node.op) ? find_kernel(node.op, isa) : nullptr;
    if (!step.kernel) step.why_not = reason(node);
    executable->steps.push_back(std::move(step));
  }
  return executable;
}

std::vector<Tensor> execute(const Executable& executable, const std::vector<Tensor>& inputs,
                            ThreadPool& pool) {
  const Graph& graph = executable.graph;
  check(inputs.size() == graph.inputs.size(), "execute() needs a tensor for each input");
  std::vector<Tensor> values(graph.values.size());
  for (std::size_t i = 0; i < graph.values.size(); ++i)
    if (graph.values[i].is_constant()) values[i] = graph.values[i].constant;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    values[static_cast<std::size_t>(graph.inputs[i])] = inputs[i].aligned();
  for (std::size_t step = 0; step < graph.nodes.size(); ++step) {
    run_step(executable, step, values, pool);
    for (ValueId id : executable.steps[step].free_after) values[static_cast<std::size_t>(id)] = {};
  }
  std::vector<Tensor> outputs;
  for (ValueId id : graph.outputs) outputs.push_back(values[static_cast<std::size_t>(id)]);
  return outputs;
}

}  // namespace octet
