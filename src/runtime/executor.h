#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/threads.h"
#include "graph/op_table.h"
#include "kernels/dispatch.h"
#include "octet/predictor.h"
#include "runtime/integer_input.h"

namespace octet {

// Sees values as they are made, in the layout that they have in memory.
using Observer = std::function<void(ValueId id, const Tensor& tensor)>;

// A graph on another device than this CPU: inputs to outputs.
using DeviceGraph =
    std::function<std::vector<Tensor>(const std::vector<Tensor>& inputs, const Observer& observer)>;

// Another device than this CPU.
class Device {
 public:
  virtual ~Device() = default;
  virtual DeviceGraph load(const Graph& graph, const std::vector<ValueId>& observed) const = 0;
};

struct ExecuteOptions {
  bool ir_optim = true;  // rewrite the graph to run faster; off: run it as it is
  std::string isa = {};  // "" is the best that there is
  // Values that an observer wants to see in the run. They are not fused away, and all convolutions are exact.
  std::vector<ValueId> observed = {};
  const Device* device = nullptr;  // null: this CPU
};

ExecuteOptions execute_options(const Config& config);

// A graph made ready to run. It does not change any more, so predictors share it.
struct Executable {
  struct Step {
    const OpSpec* spec = nullptr;
    const Implementation* implementation = nullptr;  // null: the op can't run, and `why_not` says why
    std::string why_not;
    std::shared_ptr<const Prepared> prepared;
    Layout layout = Layout::kPlain;
    std::vector<ValueId> free_after;  // values that nobody needs after this step
  };
  Graph graph;
  std::vector<Step> steps;                                  // one a node
  std::vector<std::optional<IntegerInput>> integer_inputs;  // one an input
  DeviceGraph on_device;  // runs it in place of the steps, which there are none of then
  const Isa* isa = nullptr;
};

std::shared_ptr<const Executable> prepare(const Graph& graph, const ExecuteOptions& options);

// How long one step of a run took.
struct StepTime {
  std::string name;  // of the step's output
  std::string op;
  std::string kernel;  // of the implementation
  Shape output;
  std::int64_t macs = 0;  // multiply-adds, of convolutions and products
  double ms = 0;
};

// Runs an executable again and again. Memory is planned for each new set of input shapes, and the last few
// plans are kept. Not for use from several threads at once.
class Session {
 public:
  Session(std::shared_ptr<const Executable> executable, ThreadPool& pool);
  ~Session();

  // `inputs` are in the order of graph.inputs, the result in that of graph.outputs. The results are the
  // session's: the next run overwrites them. Where the executable has an integer input, that may be given as
  // int8, of the same shape.
  std::vector<Tensor> run(const std::vector<Tensor>& inputs, std::vector<StepTime>* times = nullptr,
                          const Observer& observer = {});

  // The bytes that activations have taken at most.
  std::size_t arena_bytes() const { return arena_bytes_; }

 private:
  struct Bound;
  Bound& bound_for(const std::vector<Tensor>& inputs);
  std::vector<Tensor> run_steps(const std::vector<Tensor>& inputs, std::vector<StepTime>* times,
                                const Observer& observer);

  std::shared_ptr<const Executable> executable_;
  ThreadPool& pool_;
  std::shared_ptr<std::byte[]> arena_;  // of the plan that needs most
  std::size_t arena_bytes_ = 0;
  std::vector<std::unique_ptr<Bound>> bound_;  // the most recent first
};

// One run, for those who need no more.
std::vector<Tensor> execute(std::shared_ptr<const Executable> executable, const std::vector<Tensor>& inputs,
                            ThreadPool& pool);

}  // namespace octet
