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

}  // namespace

void conv2d(const KernelArgs& args) {
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
