#include <algorithm>
#include <cmath>

#include "kernels/ref/ref.h"
#include "kernels/ref/strides.h"

namespace octet::ref {

// Mean and variance of a group are sums in double, from left to right; each is rounded to float once.
void group_norm(const KernelArgs& args) {
  const Tensor& x = *args.inputs[0];
  if (x.size() == 0) return;
  std::int64_t channels = x.dim(1), groups = attr<std::int64_t>(args.node, "groups");
  if (groups == 0) groups = channels;
  std::int64_t area = count_of(x.shape(), 2, x.shape().size()), per_group = channels / groups,
               size = per_group * area;
  const float* scale = args.input("scale") ? args.input("scale")->data<float>().data() : nullptr;
  const float* bias = args.input("bias") ? args.input("bias")->data<float>().data() : nullptr;
  float epsilon = attr<float>(args.node, "epsilon");
  const float* in = x.data<float>().data();
  float* out = args.outputs[0].mutable_data<float>().data();

  args.pool.parallel_for(x.dim(0) * groups, [&](std::int64_t group) {
    const float* from = in + group * size;
    float* to = out + group * size;
    double sum = 0, squares = 0;
    for (std::int64_t i = 0; i < size; ++i) sum += from[i];
    auto mean = static_cast<float>(sum / static_cast<double>(size));
    for (std::int64_t i = 0; i < size; ++i) {
      double distance = static_cast<double>(from[i]) - mean;
      squares += distance * distance;
    }
    auto variance = static_cast<float>(squares / static_cast<double>(size));
    float factor = 1.0f / std::sqrt(variance + epsilon);
    for (std::int64_t i = 0; i < size; ++i) {
      std::int64_t channel = group % groups * per_group + i / area;
      float normal = (from[i] - mean) * factor;
      to[i] = normal * (scale ? scale[channel] : 1.0f) + (bias ? bias[channel] : 0.0f);
    }
  });
}

// x / (bias + alpha/size * s)^beta, where s is the sum of the squares of `size` channels around it, in
// double.
void lrn(const KernelArgs& args) {
  const Tensor& x = *args.inputs[0];
  if (x.size() == 0) return;
  std::int64_t size = attr<std::int64_t>(args.node, "size"), channels = x.dim(1),
               area = count_of(x.shape(), 2, x.shape().size());
  double alpha = attr<double>(args.node, "alpha") / static_cast<double>(size),
         beta = attr<double>(args.node, "beta"), bias = attr<double>(args.node, "bias");
  std::int64_t before = (size - 1) / 2, after = size - 1 - before;
  const float* in = x.data<float>().data();
  float* out = args.outputs[0].mutable_data<float>().data();
  args.pool.parallel_for(x.dim(0) * channels, [&](std::int64_t plane) {
    std::int64_t c = plane % channels;
    const float* image = in + (plane - c) * area;
    std::int64_t first = std::max<std::int64_t>(0, c - before), last = std::min(channels - 1, c + after);
    for (std::int64_t i = 0; i < area; ++i) {
      double sum = 0;
      for (std::int64_t k = first; k <= last; ++k)
        sum += static_cast<double>(image[k * area + i]) * image[k * area + i];
      out[plane * area + i] = static_cast<float>(image[c * area + i] / std::pow(bias + alpha * sum, beta));
    }
  });
}

}  // namespace octet::ref
