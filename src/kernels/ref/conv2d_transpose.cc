#include "kernels/ref/deconvolve.h"
#include "kernels/ref/ref.h"

namespace octet::ref {

Cell find_cell(const GridAxis& axis, std::int64_t o) {
  std::int64_t position = o + axis.window.before, index = position / axis.window.stride;
  auto it = std::find(axis.remainders.begin(), axis.remainders.end(), position % axis.window.stride);
  if (it == axis.remainders.end() || index >= axis.cells) return {};
  return {it - axis.remainders.begin(), index};
}

void conv2d_transpose(const KernelArgs& args) {
  const Tensor* bias = args.input(2);
  float* y = args.outputs[0].mutable_data<float>().data();
  deconvolve<float, float>(
      args, [&](std::int64_t channel, std::int64_t index, const float* sums, std::int64_t count) {
        float addend = bias ? bias->data<float>()[static_cast<std::size_t>(channel)] : 0.0f;
        for (std::int64_t i = 0; i < count; ++i) y[index + i] = bias ? sums[i] + addend : sums[i];
      });
}

}  // namespace octet::ref
