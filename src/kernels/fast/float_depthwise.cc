#include <algorithm>

#include "kernels/fast/fast.h"
#include "kernels/fast/float.h"

// conv2d with a group for each input channel.
namespace octet::fast {
namespace {

struct PreparedDepthwise : Prepared {
  std::int64_t channels;    // of the output
  std::int64_t multiplier;  // outputs of each input channel
  std::int64_t kernel_h, kernel_w;
  Tensor weights, bias;
  std::vector<float> zeros;
};

bool fits_depthwise(const PrepareArgs& args) {
  return constants_are_weights(args) && args.value("weight")->shape[1] == 1 && !args.value("gate");
}

std::shared_ptr<const Prepared> prepare_depthwise(const PrepareArgs& args) {
  auto prepared = std::make_shared<PreparedDepthwise>();
  PreparedDepthwise& p = *prepared;
  Tensor weight = args.constant("weight").aligned(), bias = args.constant("bias").aligned();
  p.channels = weight.dim(0);
  p.multiplier = p.channels / attr<std::int64_t>(args.node, "groups");
  p.kernel_h = weight.dim(2);
  p.kernel_w = weight.dim(3);
  p.zeros.assign(static_cast<std::size_t>(p.channels), 0.0f);
  std::int64_t lanes = args.simd->f32.lanes, vectors = divide_up(p.channels, lanes);
  std::int64_t taps = p.kernel_h * p.kernel_w;
  // Element (channel, t) of `from`, vector by vector.
  auto pack = [&](const float* from, std::int64_t count) {
    Tensor packed(DType::kFloat32, {vectors * count * lanes});
    float* to = packed.mutable_data<float>().data();
    for (std::int64_t v = 0; v < vectors; ++v) {
      std::int64_t first = std::max<std::int64_t>(std::min(v * lanes, p.channels - lanes), 0);
      for (std::int64_t t = 0; t < count; ++t)
        for (std::int64_t lane = 0; lane < lanes; ++lane)
          *to++ = first + lane < p.channels ? from[(first + lane) * count + t] : 0;
    }
    return packed;
  };
  p.weights = pack(weight.data<float>().data(), taps);
  if (!bias.empty()) p.bias = pack(bias.data<float>().data(), 1);
  return prepared;
}

// With several outputs of a channel, a copy of x that has each channel several times.
std::size_t depthwise_scratch(const KernelArgs& args) {
  const auto& p = static_cast<const PreparedDepthwise&>(*args.prepared);
  const Shape& x = args.inputs[0]->shape();
  return p.multiplier == 1 ? 0 : static_cast<std::size_t>(x[0] * x[2] * x[3] * p.channels) * sizeof(float);
}

const float* repeat_channels(const KernelArgs& args, std::int64_t multiplier) {
  const Tensor& x = *args.inputs[0];
  const float* from = x.data<float>().data();
  if (multiplier == 1) return from;
  float* to = reinterpret_cast<float*>(args.scratch.data());
  constexpr std::int64_t kBlock = 4096;
  args.pool.parallel_for(divide_up(x.size(), kBlock), [&](std::int64_t block) {
    for (std::int64_t i = block * kBlock; i < std::min((block + 1) * kBlock, x.size()); ++i)
      std::fill_n(to + i * multiplier, multiplier, from[i]);
  });
  return to;
}

void run_depthwise(const KernelArgs& args) {
  const auto& p = static_cast<const PreparedDepthwise&>(*args.prepared);
  const Tensor& x = *args.inputs[0];
  Epilogue epilogue = read_epilogue(args.node, args.input("out_scale"));
  ops::Window window = ops::conv_window(args.node, x.dim(2), x.dim(3), p.kernel_h, p.kernel_w);
  std::int64_t out_h = window.y.out, out_w = window.x.out;
  simd::FloatTarget target = find_target(args, epilogue, p.channels);
  const float* images = repeat_channels(args, p.multiplier);

  // Tasks of an even number of rows, which the routine likes, and at least some 10 us of work.
  std::int64_t row_work = out_w * p.channels * p.kernel_h * p.kernel_w;
  std::int64_t rows = divide_up(out_h, 4 * args.pool.threads());
  rows = std::min(round_up(std::max(rows, divide_up(1 << 18, row_work)), 2), out_h);
  if (args.pool.threads() == 1) rows = out_h;
  std::int64_t blocks = divide_up(out_h, rows);
  args.pool.parallel_for(x.dim(0) * blocks, [&](std::int64_t task) {
    std::int64_t n = task / blocks, first = task % blocks * rows;
    args.simd->f32.depthwise({.x = images + n * window.y.in * window.x.in * p.channels,
                              .in_h = window.y.in,
                              .in_w = window.x.in,
                              .channels = p.channels,
                              .kernel_h = p.kernel_h,
                              .kernel_w = p.kernel_w,
                              .stride_y = window.y.stride,
                              .stride_x = window.x.stride,
                              .dilation_y = window.y.dilation,
                              .dilation_x = window.x.dilation,
                              .before_y = window.y.before,
                              .before_x = window.x.before,
                              .out_w = out_w,
                              .first_row = first,
                              .rows = std::min(rows, out_h - first),
                              .weights = p.weights.data<float>().data(),
                              .bias = data_or_null(p.bias),
                              .zeros = p.zeros.data(),
                              .target = advance(target, n * out_h * out_w * p.channels)});
  });
}

}  // namespace

std::vector<Implementation> float_depthwise() {
  return {{.op = "conv2d",
           .name = "depthwise",
           .layout = LayoutNeed::kChannelsLast,
           .run = run_depthwise,
           .fits = fits_depthwise,
           .prepare = prepare_depthwise,
           .scratch = depthwise_scratch,
           .drops_constants = true}};
}

}  // namespace octet::fast
