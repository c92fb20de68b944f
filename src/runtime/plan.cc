#include "runtime/plan.h"

#include <algorithm>
#include <numeric>

#include "graph/shape_values.h"
#include "kernels/ref/ref.h"

namespace octet {

namespace {

// A single tensor of a run: a model that asks for more is broken, or meant to harm.
constexpr std::int64_t kMaxTensorBytes = std::int64_t{1} << 32;
constexpr std::size_t kAlignment = 64;

std::size_t at(ValueId id) {
  return static_cast<std::size_t>(id);
}

// A piece of memory and the steps, both included, between which it must not be touched by others.
struct Buffer {
  int first = -1, last = -1;
  std::size_t bytes = 0;
  std::int64_t offset = 0;
};

// Each buffer, largest first, goes to the lowest place where no buffer lies that lives at the same time.
std::size_t place(std::vector<Buffer*> buffers) {
  std::stable_sort(buffers.begin(), buffers.end(),
                   [](const Buffer* a, const Buffer* b) { return a->bytes > b->bytes; });
  std::vector<Buffer*> placed;  // in the order of their offsets
  std::size_t end = 0;
  for (Buffer* buffer : buffers) {
    std::int64_t offset = 0, bytes = static_cast<std::int64_t>(buffer->bytes);
    for (const Buffer* other : placed) {
      if (other->last < buffer->first || buffer->last < other->first) continue;
      if (other->offset >= offset + bytes) break;
      offset = std::max(offset, other->offset + static_cast<std::int64_t>(other->bytes));
    }
    buffer->offset = offset;
    placed.insert(std::upper_bound(placed.begin(), placed.end(), buffer,
                                   [](const Buffer* a, const Buffer* b) { return a->offset < b->offset; }),
                  buffer);
    end = std::max(end, static_cast<std::size_t>(offset + bytes));
  }
  return end;
}

class Planner {
 public:
  Planner(const Executable& executable, ThreadPool& pool)
      : executable_(executable), graph_(executable.graph), pool_(pool) {}

  Plan make(const std::vector<Shape>& inputs) {
    infer(inputs);
    find_lives();
    std::size_t count = graph_.values.size(), steps = graph_.nodes.size();
    buffers_.resize(count);
    root_.resize(count);
    std::iota(root_.begin(), root_.end(), 0);
    plan_.skip.resize(steps);
    std::vector<Buffer> scratch(steps);
    for (std::size_t step = 0; step < steps; ++step) {
      add_outputs(step);
      scratch[step] = {static_cast<int>(step), static_cast<int>(step), scratch_bytes(step)};
    }
    std::vector<Buffer*> all;
    for (std::vector<Buffer>* list : {&buffers_, &scratch})
      for (Buffer& buffer : *list)
        if (buffer.bytes > 0) all.push_back(&buffer);
    plan_.arena_bytes = place(all);
    for (const Buffer* buffer : all) plan_.unshared_bytes += buffer->bytes;
    plan_.values.resize(count);
    for (std::size_t i = 0; i < count; ++i)
      if (const Buffer& buffer = buffers_[at(root_[i])]; buffer.bytes > 0)
        plan_.values[i] = {buffer.offset, buffer.bytes};
    for (const Buffer& buffer : scratch) plan_.scratch.push_back({buffer.offset, buffer.bytes});
    return std::move(plan_);
  }

 private:
  void infer(const std::vector<Shape>& inputs) {
    std::vector<ValueInfo> infos;
    for (const Value& value : graph_.values) {
      if (value.is_constant())
        infos.push_back({value.dtype, value.shape, &value.constant});
      else if (value.constant.rank() > 0)  // a weight that only a packed form is left of
        infos.push_back({value.dtype, value.constant.shape(), nullptr});
      else
        infos.push_back({value.dtype, {kUnknown}, nullptr});
    }
    for (std::size_t i = 0; i < inputs.size(); ++i) infos[at(graph_.inputs[i])].shape = inputs[i];
    InferredValues inferred = infer_values(graph_, std::move(infos), evaluate);
    plan_.infos = std::move(inferred.infos);
    plan_.known = std::move(inferred.tensors);
  }

  void find_lives() {
    last_.assign(graph_.values.size(), -1);
    is_output_.assign(graph_.values.size(), false);
    for (std::size_t step = 0; step < graph_.nodes.size(); ++step)
      for (const auto* ids : {&graph_.nodes[step].inputs, &graph_.nodes[step].outputs})
        for (ValueId id : *ids)
          if (id != kNoValue) last_[at(id)] = static_cast<int>(step);
    for (ValueId id : graph_.outputs) is_output_[at(id)] = true;
  }

  // The bytes of a value in the arena; 0 when it has no place there.
  std::size_t bytes_of(const Node& node, ValueId id) const {
    const ValueInfo& info = plan_.infos[at(id)];
    if (!is_known(info.shape)) return 0;
    std::int64_t elements = element_count(info.shape);
    if (elements > kMaxTensorBytes / static_cast<std::int64_t>(size_of(info.dtype)))
      fail("{}: its output of shape {} needs more than {} GB", describe(graph_, node), to_string(info.shape),
           kMaxTensorBytes >> 30);
    if (is_output_[at(id)]) return 0;
    std::size_t bytes = static_cast<std::size_t>(elements) * size_of(info.dtype);
    return (bytes + kAlignment - 1) / kAlignment * kAlignment;
  }

  void add_outputs(std::size_t step) {
    const Node& node = graph_.nodes[step];
    if (!executable_.steps[step].implementation) return;
    if (node.outputs.size() == 1 && node.outputs[0] != kNoValue && plan_.infos[at(node.outputs[0])].data) {
      plan_.skip[step] = true;
      return;
    }
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      ValueId id = node.outputs[i];
      if (id == kNoValue) continue;
      std::size_t bytes = bytes_of(node, id);
      if (bytes == 0) continue;
      if (i == 0 && spec_of(node).kind == OpKind::kView && shares_input(step, 0, id, bytes)) {
        plan_.skip[step] = true;
        continue;
      }
      if (overwrites_input(step, id, bytes)) continue;
      buffers_[at(id)] = {static_cast<int>(step), last_[at(id)], bytes};
    }
  }

  // Lets an output of a step lie where its input lies; false: it can't.
  bool shares_input(std::size_t step, std::size_t input, ValueId to, std::size_t bytes) {
    const Node& node = graph_.nodes[step];
    if (input >= node.inputs.size() || node.inputs[input] == kNoValue) return false;
    ValueId from = root_[at(node.inputs[input])];
    Buffer& buffer = buffers_[at(from)];
    if (buffer.bytes != bytes) return false;
    root_[at(to)] = from;
    buffer.last = std::max(buffer.last, last_[at(to)]);
    return true;
  }

  // The same for a step that writes there: nobody else may read what the input was.
  bool overwrites_input(std::size_t step, ValueId to, std::size_t bytes) {
    const Node& node = graph_.nodes[step];
    int in_place = executable_.steps[step].implementation->in_place;
    if (in_place < 0 || at(in_place) >= node.inputs.size() || node.inputs[at(in_place)] == kNoValue)
      return false;
    ValueId from = node.inputs[at(in_place)], root = root_[at(from)];
    auto lies_there = [&](ValueId id) { return id != kNoValue && root_[at(id)] == root; };
    return buffers_[at(root)].last == static_cast<int>(step) &&
           std::count_if(node.inputs.begin(), node.inputs.end(), lies_there) == 1 &&
           std::none_of(node.outputs.begin(), node.outputs.end(), lies_there) &&
           plan_.infos[at(from)].dtype == plan_.infos[at(to)].dtype &&
           shares_input(step, at(in_place), to, bytes);
  }

  std::size_t scratch_bytes(std::size_t step) const {
    const Executable::Step& plan = executable_.steps[step];
    const Node& node = graph_.nodes[step];
    if (!plan.implementation || !plan.implementation->scratch) return 0;
    std::vector<Tensor> inputs(node.inputs.size()), outputs;
    std::vector<const Tensor*> pointers(node.inputs.size(), nullptr);
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i] == kNoValue) continue;
      const ValueInfo& info = plan_.infos[at(node.inputs[i])];
      if (!is_known(info.shape)) return 0;
      inputs[i] = info.data ? *info.data : Tensor::shape_only(info.dtype, info.shape);
      pointers[i] = &inputs[i];
    }
    for (ValueId id : node.outputs) {
      if (id == kNoValue) continue;
      if (!is_known(plan_.infos[at(id)].shape)) return 0;
      outputs.push_back(Tensor::shape_only(plan_.infos[at(id)].dtype, plan_.infos[at(id)].shape));
    }
    std::size_t bytes = plan.implementation->scratch(
        {node, pointers, outputs, pool_, plan.layout, executable_.isa->simd, plan.prepared.get(), {}});
    return (bytes + kAlignment - 1) / kAlignment * kAlignment;
  }

  const Executable& executable_;
  const Graph& graph_;
  ThreadPool& pool_;
  Plan plan_;
  std::vector<int> last_;  // the last step that reads or makes a value
  std::vector<bool> is_output_;
  std::vector<Buffer> buffers_;  // by value; of a value that shares another's, the other's counts
  std::vector<ValueId> root_;
};

}  // namespace

bool evaluate(const Node& node, const std::vector<const Tensor*>& inputs, Tensor* output) {
  return ref::evaluate(node, inputs, {output, 1});
}

Plan make_plan(const Executable& executable, const std::vector<Shape>& inputs, ThreadPool& pool) {
  return Planner(executable, pool).make(inputs);
}

}  // namespace octet
