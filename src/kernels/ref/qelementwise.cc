#include "graph/ops/infer.h"
#include "kernels/ref/blocks.h"
#include "kernels/ref/epilogue.h"
#include "kernels/ref/ref.h"
#include "kernels/ref/strides.h"

namespace octet::ref {
namespace {

template <class Function>
void combine(const KernelArgs& args, const Function& function) {
  const Tensor &x = *args.inputs[0], &y = *args.inputs[1];
  ops::Broadcast shapes = ops::broadcast(x.shape(), y.shape(), attr<std::int64_t>(args.node, "axis"));
  Shape x_strides = broadcast_strides(shapes.x), y_strides = broadcast_strides(shapes.y);
  std::size_t rank = shapes.out.size();
  const std::int8_t *xs = x.data<std::int8_t>().data(), *ys = y.data<std::int8_t>().data();
  float x_step = args.inputs[2]->data<float>()[0], y_step = args.inputs[3]->data<float>()[0];
  Store store(args, nullptr, args.input(4));
  for_blocks(args.pool, args.outputs[0].size(), [&](std::int64_t begin, std::int64_t end) {
    std::vector<float> values;
    for (std::int64_t i = begin; i < end; ++i)
      values.push_back(function(static_cast<float>(xs[offset_of(i, shapes.out, x_strides, rank)]) * x_step,
                                static_cast<float>(ys[offset_of(i, shapes.out, y_strides, rank)]) * y_step));
    store(values.data(), end - begin, begin);
  });
}

}  // namespace

void qadd(const KernelArgs& args) {
  combine(args, [](float x, float y) { return x + y; });
}

void qmul(const KernelArgs& args) {
  combine(args, [](float x, float y) { return x * y; });
}

}  // namespace octet::ref
