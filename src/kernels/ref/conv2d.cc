#include "kernels/ref/convolve.h"
#include "kernels/ref/ref.h"

namespace octet::ref {

void conv2d(const KernelArgs& args) {
  const Tensor* bias = args.input(2);
  float* y = args.outputs[0].mutable_data<float>().data();
  convolve<float, float>(
      args, [&](std::int64_t channel, std::int64_t index, const float* sums, std::int64_t count) {
        if (!bias) {
          std::copy_n(sums, count, y + index);
          return;
        }
        float addend = bias->data<float>()[static_cast<std::size_t>(channel)];
        for (std::int64_t i = 0; i < count; ++i) y[index + i] = sums[i] + addend;
      });
}

}  // namespace octet::ref
