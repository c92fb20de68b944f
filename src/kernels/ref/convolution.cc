#include "kernels/ref/deconvolve.h"
#include "kernels/ref/epilogue.h"
#include "kernels/ref/ref.h"

namespace octet::ref {
namespace {

// What convolve() and deconvolve() call with the sums of a piece of a row.
template <class ToFloat>
auto finish(const Store& store, const ToFloat& to_float) {
  return [&](std::int64_t channel, std::int64_t index, const auto* sums, std::int64_t count) {
    std::vector<float> values = to_float.row(sums, count, channel);
    store(values.data(), count, index);
  };
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
  if (const Tensor* gate = args.input(5)) {
    Tensor x = times_gate(*args.inputs[0], *gate);
    std::vector<const Tensor*> inputs(args.inputs.begin(), args.inputs.begin() + 5);
    inputs[0] = &x;
    KernelArgs gated = {args.node, inputs, args.outputs, args.pool, args.layout};
    return conv2d(gated);
  }
  Store store(args, args.input(4), args.input(3));
  AddBias add_bias(args.input(2));
  convolve<float, float>(args, finish(store, add_bias));
}

void conv2d_transpose(const KernelArgs& args) {
  Store store(args, args.input(4), args.input(3));
  AddBias add_bias(args.input(2));
  deconvolve<float, float>(args, finish(store, add_bias));
}

void qconv2d(const KernelArgs& args) {
  Store store(args, args.input(5), args.input(4));
  Rescale rescale(*args.inputs[2], args.input(3));
  convolve<std::int8_t, std::int32_t>(args, finish(store, rescale));
}

void qconv2d_transpose(const KernelArgs& args) {
  Store store(args, args.input(5), args.input(4));
  Rescale rescale(*args.inputs[2], args.input(3));
  deconvolve<std::int8_t, std::int32_t>(args, finish(store, rescale));
}

}  // namespace octet::ref
