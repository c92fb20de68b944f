#include "kernels/ref/deconvolve.h"
#include "kernels/ref/epilogue.h"
#include "kernels/ref/ref.h"

namespace octet::ref {
namespace {

// What convolve() and deconvolve() call with the sums of a piece of a row.
auto finish(const Epilogue& epilogue, const Rescale& rescale) {
  return [&](std::int64_t channel, std::int64_t index, const std::int32_t* sums, std::int64_t count) {
    std::vector<float> values = rescale.row(sums, count, channel);
    epilogue.store(values.data(), count, index);
  };
}

}  // namespace

void qconv2d(const KernelArgs& args) {
  Epilogue epilogue(args, args.input(4));
  Rescale rescale(*args.inputs[2], args.input(3));
  convolve<std::int8_t, std::int32_t>(args, finish(epilogue, rescale));
}

void qconv2d_transpose(const KernelArgs& args) {
  Epilogue epilogue(args, args.input(4));
  Rescale rescale(*args.inputs[2], args.input(3));
  deconvolve<std::int8_t, std::int32_t>(args, finish(epilogue, rescale));
}

}  // namespace octet::ref
