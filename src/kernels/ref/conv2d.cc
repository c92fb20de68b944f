#include "graph/ops/geometry.h"
#include "kernels/ref/epilogue.h"
#include "kernels/ref/ref.h"

namespace octet::ref {
namespace {

// y[n, o, oy, ox] = the sum over (ky, kx, c), in this order, of
//   weight[o, c, ky, kx] * x[n, first channel of o's group + c, oy*stride + ky*dilation - padding, ox*...]
// where x is 0 (of integers: the one that stands for it) outside of the image. finish(sum, o, index in y)
// makes an output of it.
template <class T, class Weight, class Sum, class Finish>
void convolve(const KernelArgs& args, const Finish& finish) {
  const Tensor &x = *args.inputs[0], &weight = *args.input("weight");
  const Shape& out = args.outputs[0].shape();
  std::int64_t channels = x.dim(1), group_channels = weight.dim(1);
  std::int64_t group_outputs = out[1] / (channels / group_channels);
  ops::Window window = ops::conv_window(args.node, x.dim(2), x.dim(3), weight.dim(2), weight.dim(3));
  const ops::WindowAxis &wy = window.y, &wx = window.x;
  const T zero = zero_of<T>(args);
  args.pool.parallel_for(out[0] * out[1], [&](std::int64_t plane) {
    std::int64_t n = plane / out[1], o = plane % out[1], first = o / group_outputs * group_channels;
    const T* image = x.data<T>().data() + (n * channels + first) * wy.in * wx.in;
    const Weight* w = weight.data<Weight>().data() + o * group_channels * wy.kernel * wx.kernel;
    const Weight weight_zero = weight_zero_of<Weight>(args, o);
    for (std::int64_t oy = 0; oy < out[2]; ++oy)
      for (std::int64_t ox = 0; ox < out[3]; ++ox) {
        Sum sum = 0;
        for (std::int64_t ky = 0; ky < wy.kernel; ++ky)
          for (std::int64_t kx = 0; kx < wx.kernel; ++kx) {
            std::int64_t iy = oy * wy.stride + ky * wy.dilation - wy.before;
            std::int64_t ix = ox * wx.stride + kx * wx.dilation - wx.before;
            bool inside = iy >= 0 && iy < wy.in && ix >= 0 && ix < wx.in;
            for (std::int64_t c = 0; c < group_channels; ++c)
              sum = multiply_add(counted(w[(c * wy.kernel + ky) * wx.kernel + kx], weight_zero),
                                 counted(inside ? image[(c * wy.in + iy) * wx.in + ix] : zero, zero), sum);
          }
        finish(sum, o, (plane * out[2] + oy) * out[3] + ox);
      }
  });
}

// Each channel of each image times its number.
Tensor times_gate(const Tensor& x, const Tensor& gate) {
  Tensor y(DType::kFloat32, x.shape());
  auto from = x.data<float>(), factors = gate.data<float>();
  auto to = y.mutable_data<float>();
  auto area = static_cast<std::size_t>(x.dim(2) * x.dim(3));
  for (std::size_t i = 0; i < from.size(); ++i) to[i] = from[i] * factors[i / area];
  return y;
}

}  // namespace

void conv2d(const KernelArgs& args) {
  if (const Tensor* gate = args.input("gate")) {
    Tensor x = times_gate(*args.inputs[0], *gate);
    std::vector<const Tensor*> inputs(args.inputs.begin(), args.inputs.begin() + 5);
    inputs[0] = &x;
    KernelArgs gated = {args.node, inputs, args.outputs, args.pool, args.layout};
    return conv2d(gated);
  }
  Store store(args);
  AddBias add_bias(args.input("bias"));
  convolve<float, float, float>(args, [&](float sum, std::int64_t channel, std::int64_t index) {
    store(add_bias(sum, channel), index);
  });
}

void qconv2d(const KernelArgs& args) {
  Store store(args);
  Rescale rescale(*args.input("multiplier"), args.input("bias"));
  with_weights(args, [&]<class Weight>() {
    convolve<std::int8_t, Weight, std::int32_t>(
        args, [&](std::int32_t sum, std::int64_t channel, std::int64_t index) {
          store(rescale(sum, channel), index);
        });
  });
}

void conv2d_integer(const KernelArgs& args) {
  auto y = args.outputs[0].mutable_data<std::int32_t>();
  with_bytes(args, [&]<class T, class Weight>() {
    convolve<T, Weight, std::int32_t>(args, [&](std::int32_t sum, std::int64_t, std::int64_t index) {
      y[static_cast<std::size_t>(index)] = sum;
    });
  });
}

}  // namespace octet::ref
