#include <algorithm>

#include "kernels/epilogue.h"
#include "kernels/fast/fast.h"
#include "kernels/simd/simd.h"

namespace octet::fast {
namespace {

// An activation function as an op: its attributes are, in the order of docs/ops.md, what an epilogue calls
// activation_args.
template <Activation kActivation, class... Names>
void activate(const KernelArgs& args, Names... names) {
  Epilogue epilogue;
  epilogue.activation = kActivation;
  int i = 0;
  ((epilogue.args[i++] = attr<float>(args.node, names)), ...);
  const float* x = args.inputs[0]->data<float>().data();
  float* y = args.outputs[0].mutable_data<float>().data();
  constexpr std::int64_t kBlock = 1 << 14;
  std::int64_t size = args.outputs[0].size();
  args.pool.parallel_for((size + kBlock - 1) / kBlock, [&](std::int64_t block) {
    std::int64_t begin = block * kBlock;
    args.simd->light.activate(epilogue, x + begin, y + begin, std::min(kBlock, size - begin));
  });
}

void relu(const KernelArgs& args) {
  activate<Activation::kRelu>(args);
}
void relu6(const KernelArgs& args) {
  activate<Activation::kRelu6>(args, "threshold");
}
void hard_swish(const KernelArgs& args) {
  activate<Activation::kHardSwish>(args, "threshold", "scale", "offset");
}
void hard_sigmoid(const KernelArgs& args) {
  activate<Activation::kHardSigmoid>(args, "slope", "offset");
}
void swish(const KernelArgs& args) {
  activate<Activation::kSwish>(args, "beta");
}
void sigmoid(const KernelArgs& args) {
  activate<Activation::kSigmoid>(args);
}
void leaky_relu(const KernelArgs& args) {
  activate<Activation::kLeakyRelu>(args, "alpha");
}

}  // namespace

std::vector<Implementation> light() {
  auto row = [](std::string_view op, Kernel kernel) {
    return Implementation{.op = op, .name = "vector", .layout = LayoutNeed::kSame, .run = kernel};
  };
  return {row("relu", relu),
          row("relu6", relu6),
          row("hard_swish", hard_swish),
          row("hard_sigmoid", hard_sigmoid),
          row("swish", swish),
          row("sigmoid", sigmoid),
          row("leaky_relu", leaky_relu)};
}

}  // namespace octet::fast
