#include <cmath>

#include "graph/ops/infer.h"
#include "kernels/ref/ref.h"
#include "kernels/ref/strides.h"

namespace octet::ref {

// Mean and variance of a row are sums in double, from left to right; each is rounded to float once. What is
// not centered has a mean of 0.
void layer_norm(const KernelArgs& args) {
  const Tensor& x = *args.inputs[0];
  auto begin = static_cast<std::size_t>(
      ops::normalize_axis(attr<std::int64_t>(args.node, "begin_norm_axis"), x.shape().size()));
  std::int64_t rows = count_of(x.shape(), 0, begin), size = count_of(x.shape(), begin, x.shape().size());
  const float* scale = args.input("scale") ? args.input("scale")->data<float>().data() : nullptr;
  const float* bias = args.input("bias") ? args.input("bias")->data<float>().data() : nullptr;
  float epsilon = attr<float>(args.node, "epsilon");
  bool centered = attr<bool>(args.node, "centered");
  float* means = args.outputs.size() > 1 ? args.outputs[1].mutable_data<float>().data() : nullptr;
  float* factors = args.outputs.size() > 2 ? args.outputs[2].mutable_data<float>().data() : nullptr;
  const float* in = x.data<float>().data();
  float* out = args.outputs[0].mutable_data<float>().data();

  args.pool.parallel_for(rows, [&](std::int64_t row) {
    const float* from = in + row * size;
    float* to = out + row * size;
    double sum = 0;
    for (std::int64_t i = 0; i < size; ++i) sum += from[i];
    float mean = centered ? static_cast<float>(sum / static_cast<double>(size)) : 0.0f;
    double squares = 0;
    for (std::int64_t i = 0; i < size; ++i) {
      double distance = static_cast<double>(from[i]) - mean;
      squares += distance * distance;
    }
    auto variance = static_cast<float>(squares / static_cast<double>(size));
    float factor = 1.0f / std::sqrt(variance + epsilon);
    if (means) means[row] = mean;
    if (factors) factors[row] = factor;
    for (std::int64_t i = 0; i < size; ++i) {
      float normal = (from[i] - mean) * factor;
      to[i] = std::fma(normal, scale ? scale[i] : 1.0f, bias ? bias[i] : 0.0f);
    }
  });
}

}  // namespace octet::ref
