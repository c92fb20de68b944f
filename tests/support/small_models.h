#pragma once
#include "graph/builder.h"
#include "runtime/executor.h"

// Small graphs for tests of files, passes and the runtime.
namespace octet::testing {

// Deterministic values in [-1, 1].
inline Tensor ramp(Shape shape, std::uint32_t seed = 1) {
  Tensor tensor(DType::kFloat32, std::move(shape));
  std::uint32_t state = seed;
  for (float& value : tensor.mutable_data<float>()) {
    state = state * 1664525u + 1013904223u;
    value = static_cast<float>(state >> 8) / static_cast<float>(1 << 23) - 1.0f;
  }
  return tensor;
}

// conv2d, batch_norm, relu, a global pool and a linear layer: 3x8x8 to 5 scores.
inline Graph small_network() {
  Builder b;
  ValueId x = b.input("x", {kUnknown, 3, 8, 8});
  ValueId conv = b.conv2d(x, b.constant("conv.w", ramp({4, 3, 3, 3})), {.paddings = {1, 1, 1, 1}});
  Tensor variance = Tensor::of<float>({4}, {1, 2, 3, 4});
  ValueId norm = b.batch_norm(conv, b.constant("bn.scale", ramp({4}, 2)), b.constant("bn.bias", ramp({4}, 3)),
                              b.constant("bn.mean", ramp({4}, 4)), b.constant("bn.variance", variance));
  ValueId pool = b.op("pool2d", {b.relu(norm)}, {{"type", "avg"}, {"global", true}});
  ValueId flat = b.op("flatten", {pool});
  return b.build(
      {b.add(b.matmul(flat, b.constant("fc.w", ramp({4, 5}, 5))), b.constant("fc.b", ramp({5}, 6)))});
}

inline std::vector<Tensor> run_graph(const Graph& graph, const std::vector<Tensor>& inputs,
                                     bool ir_optim = false, int threads = 1) {
  ThreadPool pool(threads);
  return execute(prepare(graph, {ir_optim, "ref"}), inputs, pool);
}

}  // namespace octet::testing
