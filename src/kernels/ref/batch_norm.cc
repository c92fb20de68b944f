#include <cmath>

#include "kernels/ref/ref.h"
#include "kernels/ref/strides.h"

namespace octet::ref {

// y = fma(x, a, b) with a = scale / sqrt(variance + epsilon) and b = bias - mean * a of its channel.
void batch_norm(const KernelArgs& args) {
  const Tensor& x = *args.inputs[0];
  const float *scale = args.input("scale")->data<float>().data(),
              *bias = args.input("bias")->data<float>().data();
  const float *mean = args.input("mean")->data<float>().data(),
              *variance = args.input("variance")->data<float>().data();
  float epsilon = attr<float>(args.node, "epsilon");
  const float* in = x.data<float>().data();
  float* out = args.outputs[0].mutable_data<float>().data();
  AxisView view = along(x.shape(), 1);
  args.pool.parallel_for(view.outer * view.size, [&](std::int64_t plane) {
    std::int64_t c = plane % view.size;
    float a = scale[c] / std::sqrt(variance[c] + epsilon), b = bias[c] - mean[c] * a;
    for (std::int64_t i = plane * view.inner; i < (plane + 1) * view.inner; ++i)
      out[i] = std::fma(in[i], a, b);
  });
}

}  // namespace octet::ref
