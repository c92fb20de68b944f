#include "runtime/executor.h"

#include <algorithm>
#include <chrono>
#include <new>

#include "base/memory.h"
#include "passes/passes.h"
#include "runtime/plan.h"

namespace octet {

namespace {

constexpr std::size_t kKeptPlans = 4;
constexpr std::size_t kAlignment = 64;

std::size_t at(ValueId id) {
  return static_cast<std::size_t>(id);
}

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
      if (id != kNoValue) last[at(id)] = static_cast<int>(step);
    for (ValueId id : graph.nodes[step].outputs)
      if (id != kNoValue) last[at(id)] = static_cast<int>(step);
  }
  for (ValueId id : graph.outputs) last[at(id)] = -1;
  std::vector<std::vector<ValueId>> free_after(graph.nodes.size());
  for (std::size_t id = 0; id < last.size(); ++id)
    if (last[id] >= 0 && !graph.values[id].is_constant())
      free_after[static_cast<std::size_t>(last[id])].push_back(static_cast<ValueId>(id));
  return free_after;
}

// The batch may always be another one.
bool fits(const Shape& given, const Shape& declared) {
  for (std::size_t i = 1; i < declared.size() && i < given.size(); ++i)
    if (declared[i] != kUnknown && declared[i] != given[i]) return false;
  return true;
}

std::string reason(const Node& node) {
  auto it = node.attrs.find("reason");
  return it == node.attrs.end() ? "octet does not know this op" : std::get<std::string>(it->second);
}

Layout layout_of(const Graph& graph, const Node& node) {
  for (const auto* ids : {&node.outputs, &node.inputs})
    for (ValueId id : *ids)
      if (id != kNoValue && !graph.value(id).is_constant() && graph.value(id).layout == Layout::kChannelsLast)
        return Layout::kChannelsLast;
  return Layout::kPlain;
}

// Gives up constants that only packed forms are left of, as soon as all who read them are prepared; their
// shapes stay. So in the end memory holds each weight once, and on the way hardly more.
class ConstantDropper {
 public:
  explicit ConstantDropper(Graph& graph) : graph_(graph), readers_(graph.values.size()) {
    for (const Node& node : graph.nodes)
      for (ValueId id : node.inputs)
        if (id != kNoValue) ++readers_[at(id)];
    for (ValueId id : graph.outputs) ++readers_[at(id)];
  }

  void prepared(const Node& node, bool drops_constants) {
    constexpr std::int64_t kSmall = 256;  // not worth it, and shape inference may want to look at it
    if (!drops_constants) return;
    for (ValueId id : node.inputs) {
      if (id == kNoValue || --readers_[at(id)] > 0) continue;
      Tensor& constant = graph_.value(id).constant;
      if (constant.empty() || constant.size() <= kSmall) continue;
      released_ += constant.size_bytes();
      constant = Tensor::shape_only(constant.dtype(), constant.shape());
    }
    constexpr std::size_t kReleaseEvery = 8 << 20;
    if (released_ < kReleaseEvery) return;
    if (graph_.source) graph_.source->release_memory();
    released_ = 0;
  }

 private:
  Graph& graph_;
  std::vector<int> readers_;
  std::size_t released_ = 0;
};

// Behind an op that octet lacks too little is known of values: where that is why the graph makes no sense,
// the op is what to name.
void check_ops(Graph& graph) {
  try {
    check_graph(graph);
  } catch (const Error&) {
    for (const Node& node : graph.nodes)
      if (!find_op(node.op)) fail("{}: {}", describe(graph, node), reason(node));
    throw;
  }
}

}  // namespace

ExecuteOptions execute_options(const Config& config) {
  return {.ir_optim = config.ir_optim(), .isa = config.isa(), .device = config.device().get()};
}

std::shared_ptr<const Executable> prepare(const Graph& graph, const ExecuteOptions& options) {
  auto executable = std::make_shared<Executable>();
  executable->isa = &choose_isa(options.isa);
  executable->graph = graph;
  check_ops(executable->graph);
  if (options.device) {
    executable->on_device = options.device->load(graph, options.observed);
    return executable;
  }
  Graph& ours = executable->graph;
  ours.outputs.insert(ours.outputs.end(), options.observed.begin(), options.observed.end());
  if (options.ir_optim) optimize(ours, evaluate);
  ours.outputs.resize(graph.outputs.size());
  if (!options.observed.empty())
    for (Node& node : ours.nodes)
      if (node.op == "conv2d") node.attrs["exact"] = true;
  const simd::Simd* simd = executable->isa->simd;
  if (simd)
    assign_layouts(ours, [&](const Node& node) {
      const Implementation* found = find_implementation({ours, node, simd});
      return found ? found->layout : LayoutNeed::kPlain;
    });
  std::vector<std::vector<ValueId>> free_after = find_last_uses(ours);
  ConstantDropper dropper(ours);
  for (std::size_t i = 0; i < ours.nodes.size(); ++i) {
    const Node& node = ours.nodes[i];
    Executable::Step step;
    step.free_after = std::move(free_after[i]);
    step.layout = layout_of(ours, node);
    PrepareArgs args{ours, node, simd};
    step.spec = find_op(node.op);
    step.implementation = step.spec ? find_implementation(args) : nullptr;
    if (!step.implementation)
      step.why_not = reason(node);
    else if (step.implementation->prepare)
      step.prepared = with_memory([&] { return "the packed weights of " + describe(ours, node); },
                                  [&] { return step.implementation->prepare(args); });
    if (step.implementation) dropper.prepared(node, step.implementation->drops_constants);
    executable->steps.push_back(std::move(step));
  }
  align_constants(ours);
  for (ValueId id : ours.inputs) executable->integer_inputs.push_back(find_integer_input(ours, id));
  if (ours.source) ours.source->release_memory();
  return executable;
}

// A plan, and everything that a run with it needs, made once.
struct Session::Bound {
  std::vector<Shape> input_shapes;
  Plan plan;
  std::byte* arena = nullptr;  // what `values` and `scratch` point into
  std::vector<Tensor> values;  // one a value
  std::vector<bool> dynamic;   // one a value: its tensor is made in the run

  struct Step {
    std::vector<const Tensor*> inputs;
    std::vector<Tensor> outputs;
    std::span<std::byte> scratch;
    bool in_run = false;    // shapes are inferred and memory is found in the run
    bool is_given = false;  // its result is what the user gave, in place of an input
  };
  std::vector<Step> steps;

  void bind(const Executable& executable, const std::shared_ptr<std::byte[]>& memory);
  void set_input(const Executable& executable, std::size_t index, const Tensor& tensor);
  void run_dynamic(const Executable& executable, std::size_t index, ThreadPool& pool);
  KernelArgs args(const Executable& executable, std::size_t index, ThreadPool& pool) {
    const Executable::Step& step = executable.steps[index];
    return {executable.graph.nodes[index], steps[index].inputs, steps[index].outputs, pool,     step.layout,
            executable.isa->simd,          step.prepared.get(), steps[index].scratch, step.spec};
  }
};

void Session::Bound::bind(const Executable& executable, const std::shared_ptr<std::byte[]>& memory) {
  const Graph& graph = executable.graph;
  arena = memory.get();
  values.assign(graph.values.size(), Tensor());
  dynamic.assign(graph.values.size(), false);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Value& value = graph.values[i];
    const ValueInfo& info = plan.infos[i];
    if (!value.constant.empty() || value.constant.rank() > 0)
      values[i] = value.constant;
    else if (plan.values[i].offset >= 0)
      values[i] = Tensor::over(info.dtype, info.shape, arena + plan.values[i].offset, memory);
    else if (info.data)
      values[i] = *info.data;
    else if (is_known(info.shape))
      values[i] = Tensor::shape_only(info.dtype, info.shape);
  }
  for (ValueId id : graph.outputs)
    if (values[at(id)].empty() && is_known(plan.infos[at(id)].shape))
      values[at(id)] = Tensor(plan.infos[at(id)].dtype, plan.infos[at(id)].shape);
  steps.assign(graph.nodes.size(), {});
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Node& node = graph.nodes[i];
    Step& step = steps[i];
    for (ValueId id : node.inputs) step.inputs.push_back(id == kNoValue ? nullptr : &values[at(id)]);
    for (ValueId id : node.outputs) {
      // Nobody reads an output without a name, but kernels write it.
      if (id == kNoValue || values[at(id)].empty()) {
        step.in_run = true;
        if (id != kNoValue) dynamic[at(id)] = true;
      } else {
        step.outputs.push_back(values[at(id)]);
      }
    }
    if (plan.scratch[i].bytes > 0) step.scratch = {arena + plan.scratch[i].offset, plan.scratch[i].bytes};
  }
}

void Session::Bound::set_input(const Executable& executable, std::size_t index, const Tensor& tensor) {
  const ValueId id = executable.graph.inputs[index];
  const std::optional<IntegerInput>& integers = executable.integer_inputs[index];
  const bool is_given = integers && tensor.dtype() == DType::kInt8;
  values[at(is_given ? integers->value : id)] = tensor.aligned();
  if (!integers) return;
  for (std::size_t step : integers->steps) {
    // After a run with integers its value is that of the plan again.
    if (steps[step].is_given && !is_given && !steps[step].outputs.empty())
      values[at(executable.graph.nodes[step].outputs[0])] = steps[step].outputs[0];
    steps[step].is_given = is_given;
  }
}

void Session::Bound::run_dynamic(const Executable& executable, std::size_t index, ThreadPool& pool) {
  const Graph& graph = executable.graph;
  const Node& node = graph.nodes[index];
  std::vector<ValueInfo> infos(node.inputs.size()), out_infos(node.outputs.size());
  std::vector<const ValueInfo*> pointers(node.inputs.size(), nullptr);
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const Tensor* input = steps[index].inputs[i];
    if (!input) continue;
    infos[i] = {input->dtype(), input->shape(), input->empty() ? nullptr : input};
    pointers[i] = &infos[i];
  }
  infer_node(graph, node, pointers, out_infos);
  std::vector<Tensor> outputs;
  for (const ValueInfo& info : out_infos) {
    constexpr std::int64_t kMaxBytes = std::int64_t{1} << 32;
    if (element_count(info.shape) > kMaxBytes / static_cast<std::int64_t>(size_of(info.dtype)))
      fail("{}: its output of shape {} needs more than {} GB", describe(graph, node), to_string(info.shape),
           kMaxBytes >> 30);
    outputs.emplace_back(info.dtype, info.shape);
  }
  steps[index].outputs = outputs;
  KernelArgs kernel_args = args(executable, index, pool);
  const Implementation& implementation = *executable.steps[index].implementation;
  Tensor scratch;
  if (implementation.scratch) {
    scratch = Tensor(DType::kInt8, {static_cast<std::int64_t>(implementation.scratch(kernel_args))});
    kernel_args.scratch = scratch.mutable_bytes();
  }
  implementation.run(kernel_args);
  for (std::size_t i = 0; i < node.outputs.size(); ++i)
    if (node.outputs[i] != kNoValue) values[at(node.outputs[i])] = std::move(outputs[i]);
  steps[index].outputs.clear();
}

Session::Session(std::shared_ptr<const Executable> executable, ThreadPool& pool)
    : executable_(std::move(executable)), pool_(pool) {}

Session::~Session() = default;

Session::Bound& Session::bound_for(const std::vector<Tensor>& inputs) {
  std::vector<Shape> shapes;
  for (const Tensor& input : inputs) shapes.push_back(input.shape());
  auto it = std::find_if(bound_.begin(), bound_.end(),
                         [&](const auto& bound) { return bound->input_shapes == shapes; });
  if (it == bound_.end()) {
    auto bound = std::make_unique<Bound>();
    bound->plan = make_plan(*executable_, shapes, pool_);
    bound->input_shapes = std::move(shapes);
    if (bound_.size() == kKeptPlans) bound_.pop_back();
    it = bound_.insert(bound_.begin(), std::move(bound));
  }
  std::rotate(bound_.begin(), it, it + 1);
  Bound& bound = *bound_.front();
  if (bound.plan.arena_bytes > arena_bytes_ || !arena_) {
    const std::size_t bytes = bound.plan.arena_bytes;
    with_memory([&] { return fmt::format("a run with these inputs needs {}", size_text(bytes)); },
                [&] {
                  arena_.reset(
                      static_cast<std::byte*>(::operator new[](bytes, std::align_val_t(kAlignment))),
                      [](std::byte* memory) { ::operator delete[](memory, std::align_val_t(kAlignment)); });
                  arena_bytes_ = bytes;
                });
  }
  if (bound.arena != arena_.get() || bound.steps.empty()) bound.bind(*executable_, arena_);
  return bound;
}

// A declared shape does not bind (Paddle does not check it either), but when a run fails it is worth a hint.
std::vector<Tensor> Session::run(const std::vector<Tensor>& inputs, std::vector<StepTime>* times,
                                 const Observer& observer) {
  try {
    return run_steps(inputs, times, observer);
  } catch (const Error& error) {
    std::string hint;
    for (std::size_t i = 0; i < inputs.size() && i < executable_->graph.inputs.size(); ++i) {
      const Value& value = executable_->graph.value(executable_->graph.inputs[i]);
      if (!fits(inputs[i].shape(), value.shape))
        hint += fmt::format(" (input {} is declared {}, given {})", value.name, to_string(value.shape),
                            to_string(inputs[i].shape()));
    }
    if (hint.empty()) throw;
    throw Error(error.what() + hint, error.kind());
  }
}

std::vector<Tensor> Session::run_steps(const std::vector<Tensor>& inputs, std::vector<StepTime>* times,
                                       const Observer& observer) {
  const Graph& graph = executable_->graph;
  check(inputs.size() == graph.inputs.size(), "a run needs a tensor for each input");
  if (executable_->on_device) return executable_->on_device(inputs, observer);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i)
    if (!executable_->steps[i].implementation)
      fail("{}: {}", describe(graph, graph.nodes[i]), executable_->steps[i].why_not);
  Bound& bound = bound_for(inputs);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    bound.set_input(*executable_, i, inputs[i]);
    if (observer) observer(graph.inputs[i], bound.values[at(graph.inputs[i])]);
  }
  for (std::size_t index = 0; index < graph.nodes.size(); ++index) {
    const Node& node = graph.nodes[index];
    const Executable::Step& step = executable_->steps[index];
    if (!bound.plan.skip[index] && !bound.steps[index].is_given) {
      auto start = std::chrono::steady_clock::now();
      if (bound.steps[index].in_run)
        bound.run_dynamic(*executable_, index, pool_);
      else
        step.implementation->run(bound.args(*executable_, index, pool_));
      if (times) {
        std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
        const Value& first = graph.value(node.outputs[0]);
        const Shape& shape = bound.values[at(node.outputs[0])].shape();
        times->push_back({first.name, node.op, std::string(step.implementation->name), shape,
                          multiply_adds(graph, node, shape), took.count()});
      }
    }
    for (ValueId id : node.outputs)
      if (observer && id != kNoValue) observer(id, bound.values[at(id)]);
    for (ValueId id : step.free_after)
      if (bound.dynamic[at(id)]) bound.values[at(id)] = {};
  }
  std::vector<Tensor> outputs;
  for (ValueId id : graph.outputs) outputs.push_back(bound.values[at(id)]);
  return outputs;
}

std::vector<Tensor> execute(std::shared_ptr<const Executable> executable, const std::vector<Tensor>& inputs,
                            ThreadPool& pool) {
  return Session(std::move(executable), pool).run(inputs);
}

}  // namespace octet
