#include <cmath>

#include "kernels/ref/clones.h"
#include "kernels/ref/ref.h"
#include "kernels/ref/strides.h"

namespace octet::ref {

namespace {

OCTET_CLONES void fma_run(const float* x, float a, float b, float* y, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) y[i] = std::fma(x[i], a, b);
}

}  // namespace

void batch_norm(const KernelArgs& args) {
  const Tensor& x = *args.inputs[0];
  auto scale = args.inputs[1]->data<float>(), bias = args.inputs[2]->data<float>();
  auto mean = args.inputs[3]->data<float>(), variance = args.inputs[4]->data<float>();
  float epsilon = attr<float>(args.node, "epsilon");
  const float* in = x.data<float>().data();
  float* out = args.outputs[0].mutable_data<float>().data();
  AxisView view = along(x.shape(), 1);

  std::vector<float> a(scale.size()), b(scale.size());
  for (std::size_t c = 0; c < a.size(); ++c) {
    a[c] = scale[c] / std::sqrt(variance[c] + epsilon);
    b[c] = bias[c] - mean[c] * a[c];
  }
  args.pool.parallel_for(view.outer * view.size, [&](std::int64_t plane) {
    auto c = static_cast<std::size_t>(plane % view.size);
    fma_run(in + plane * view.inner, a[c], b[c], out + plane * view.inner, view.inner);
  });
}

}  // namespace octet::ref
