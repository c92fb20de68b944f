#pragma once
#include <memory>
#include <span>

#include "base/threads.h"
#include "graph/graph.h"

namespace octet {

struct OpSpec;
namespace simd {
struct Simd;
}

// What an implementation makes of a node's constants once, before the first run: packed weights. Shared by
// all predictors of a model; what it makes later must be guarded.
struct Prepared {
  virtual ~Prepared() = default;
};

// What a kernel works on: one node, its inputs (null where an optional one is absent) and its outputs,
// allocated with the shapes that the op table inferred. Tensors keep their logical shape, N C H W for images;
// whether memory is in that order is the implementation's layout.
struct KernelArgs {
  const Node& node;
  std::span<const Tensor* const> inputs;
  std::span<Tensor> outputs;
  ThreadPool& pool;
  Layout layout = Layout::kPlain;      // of the images among them
  const simd::Simd* simd = nullptr;    // the vector routines of this CPU; null for the reference kernels
  const Prepared* prepared = nullptr;  // what Implementation::prepare made
  std::span<std::byte> scratch = {};   // what Implementation::scratch asked for, 64-byte aligned
  const OpSpec* spec = nullptr;        // of the node, where it is known already

  // The input in a slot of the op; null where it is absent, or the op has no such slot.
  const Tensor* input(std::string_view slot) const;
};

using Kernel = void (*)(const KernelArgs& args);

struct PrepareArgs {
  const Graph& graph;
  const Node& node;
  const simd::Simd* simd;

  // The same of the graph.
  const Value* value(std::string_view slot) const;
  bool is_constant(std::string_view slot) const { return value(slot) && value(slot)->is_constant(); }
  // A constant input; empty when it is absent or not constant.
  Tensor constant(std::string_view slot) const { return value(slot) ? value(slot)->constant : Tensor(); }
};

// One way to run an op.
struct Implementation {
  std::string_view op;
  std::string_view name;  // what a profile shows, "gemm" or "ref"
  LayoutNeed layout = LayoutNeed::kPlain;
  Kernel run = nullptr;
  // Whether it can run this node; null: every node of the op.
  bool (*fits)(const PrepareArgs& args) = nullptr;
  std::shared_ptr<const Prepared> (*prepare)(const PrepareArgs& args) = nullptr;
  // Bytes of scratch memory for a run; the tensors of `args` have shapes and, but for constants, no data.
  std::size_t (*scratch)(const KernelArgs& args) = nullptr;
  // Where this input lies, an output of equal size and dtype may lie; -1: no output may lie where an input
  // does.
  int in_place = -1;
  // It only reads the constants in `prepare`, so nobody needs to keep them. Their shapes stay.
  bool drops_constants = false;
};

}  // namespace octet
