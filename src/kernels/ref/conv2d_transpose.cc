#include "graph/ops/geometry.h"
#include "kernels/ref/epilogue.h"
#include "kernels/ref/ref.h"

namespace octet::ref {
namespace {

// y[n, o, oy, ox] = the sum over (ky, kx, c), in this order, of
//   weight[first channel of o's group + c, o within the group, ky, kx] * x[n, first channel + c, iy, ix]
// for the taps with an input that touches this output: iy*stride + ky*dilation - padding = oy, and so for x.
// finish(sum, o, index in y) makes an output of it.
template <class T, class Weight, class Sum, class Finish>
void deconvolve(const KernelArgs& args, const Finish& finish) {
  const Tensor &x = *args.inputs[0], &weight = *args.input("weight");
  const Shape& out = args.outputs[0].shape();
  std::int64_t channels = x.dim(1), group_outputs = weight.dim(1);
  std::int64_t group_channels = channels / (out[1] / group_outputs);
  ops::Window window =
      ops::conv_transpose_window(args.node, x.dim(2), x.dim(3), weight.dim(2), weight.dim(3));
  const ops::WindowAxis &wy = window.y, &wx = window.x;
  std::int64_t area = wy.in * wx.in, taps = wy.kernel * wx.kernel;
  const T zero = zero_of<T>(args);
  args.pool.parallel_for(out[0] * out[1], [&](std::int64_t plane) {
    std::int64_t n = plane / out[1], o = plane % out[1], first = o / group_outputs * group_channels;
    const T* image = x.data<T>().data() + (n * channels + first) * area;
    const Weight* w = weight.data<Weight>().data() + (first * group_outputs + o % group_outputs) * taps;
    for (std::int64_t oy = 0; oy < out[2]; ++oy)
      for (std::int64_t ox = 0; ox < out[3]; ++ox) {
        Sum sum = 0;
        for (std::int64_t ky = 0; ky < wy.kernel; ++ky)
          for (std::int64_t kx = 0; kx < wx.kernel; ++kx) {
            std::int64_t py = oy + wy.before - ky * wy.dilation, iy = py / wy.stride;
            std::int64_t px = ox + wx.before - kx * wx.dilation, ix = px / wx.stride;
            if (py < 0 || py % wy.stride != 0 || iy >= wy.in) continue;
            if (px < 0 || px % wx.stride != 0 || ix >= wx.in) continue;
            for (std::int64_t c = 0; c < group_channels; ++c)
              sum = multiply_add(w[c * group_outputs * taps + ky * wx.kernel + kx],
                                 counted(image[c * area + iy * wx.in + ix], zero), sum);
          }
        finish(sum, o, (plane * out[2] + oy) * out[3] + ox);
      }
  });
}

}  // namespace

void conv2d_transpose(const KernelArgs& args) {
  Store store(args);
  AddBias add_bias(args.input("bias"));
  deconvolve<float, float, float>(args, [&](float sum, std::int64_t channel, std::int64_t index) {
    store(add_bias(sum, channel), index);
  });
}

void qconv2d_transpose(const KernelArgs& args) {
  Store store(args);
  Rescale rescale(*args.input("multiplier"), args.input("bias"));
  with_weights(args, [&]<class Weight>() {
    deconvolve<std::int8_t, Weight, std::int32_t>(
        args, [&](std::int32_t sum, std::int64_t channel, std::int64_t index) {
          store(rescale(sum, channel), index);
        });
  });
}

}  // namespace octet::ref
