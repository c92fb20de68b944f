#include "graph/ops/infer.h"
#include "kernels/ref/exp.h"
#include "kernels/ref/ref.h"
#include "kernels/ref/strides.h"

namespace octet::ref {

// The exponentials are floats; their sum runs in double, from left to right, and is rounded to float once.
void softmax(const KernelArgs& args) {
  const Tensor& x = *args.inputs[0];
  if (x.size() == 0) return;
  AxisView view{1, 1, 1};
  if (x.rank() > 0)
    view = along(x.shape(), ops::normalize_axis(attr<std::int64_t>(args.node, "axis"), x.shape().size()));
  const float* in = x.data<float>().data();
  float* out = args.outputs[0].mutable_data<float>().data();

  args.pool.parallel_for(view.outer * view.inner, [&](std::int64_t row) {
    std::int64_t first = row / view.inner * view.size * view.inner + row % view.inner;
    const float* from = in + first;
    float* to = out + first;
    float largest = *from;
    for (std::int64_t i = 1; i < view.size; ++i)
      if (from[i * view.inner] > largest) largest = from[i * view.inner];
    double sum = 0;
    for (std::int64_t i = 0; i < view.size; ++i) {
      to[i * view.inner] = exp_of(from[i * view.inner] - largest);
      sum += to[i * view.inner];
    }
    auto divisor = static_cast<float>(sum);
    for (std::int64_t i = 0; i < view.size; ++i) to[i * view.inner] /= divisor;
  });
}

}  // namespace octet::ref
