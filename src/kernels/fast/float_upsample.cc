#include <algorithm>

#include "kernels/fast/fast.h"
#include "kernels/fast/float.h"

// conv2d_transpose whose kernel is as large as its stride, as the ones that enlarge segmentation maps: no two
// inputs touch the same output. It is one product with a column for each (ky, kx, output channel), whose rows
// are then laid side by side. With few channels this fills vectors that would be nearly empty otherwise.
namespace octet::fast {
namespace {

struct PreparedUpsample : Prepared {
  std::int64_t in_channels, out_channels, kernel_h, kernel_w;
  Tensor weights, bias;

  std::int64_t columns() const { return kernel_h * kernel_w * out_channels; }
};

bool fits(const PrepareArgs& args) {
  if (!constants_are_weights(args)) return false;
  const Shape& weight = args.value("weight")->shape;
  ops::Window window = ops::conv_transpose_window(args.node, kUnknown, kUnknown, weight[2], weight[3]);
  bool tiles = true;
  for (const ops::WindowAxis* axis : {&window.y, &window.x})
    tiles =
        tiles && axis->kernel == axis->stride && axis->dilation == 1 && axis->before == 0 && axis->after == 0;
  return tiles && attr<std::int64_t>(args.node, "groups") == 1 &&
         attr<std::vector<std::int64_t>>(args.node, "output_padding").empty() &&
         attr<std::vector<std::int64_t>>(args.node, "output_size").empty() && weight[1] <= 8 &&
         !args.value("out_scale") && !args.value("residual");
}

std::shared_ptr<const Prepared> prepare(const PrepareArgs& args) {
  auto prepared = std::make_shared<PreparedUpsample>();
  PreparedUpsample& p = *prepared;
  const simd::FloatRoutines& routines = args.simd->f32;
  Tensor weight = args.constant("weight").aligned(), bias = args.constant("bias").aligned();
  p.in_channels = weight.dim(0);
  p.out_channels = weight.dim(1);
  p.kernel_h = weight.dim(2);
  p.kernel_w = weight.dim(3);
  std::int64_t taps = p.kernel_h * p.kernel_w;
  p.weights = Tensor(DType::kFloat32, {packed_size(routines, p.in_channels, p.columns())});
  auto at = [&](std::int64_t k, std::int64_t column) {
    std::int64_t tap = column / p.out_channels, channel = column % p.out_channels;
    return weight.data<float>()[static_cast<std::size_t>((k * p.out_channels + channel) * taps + tap)];
  };
  pack_panels(routines, p.in_channels, p.columns(), at, p.weights.mutable_data<float>().data());
  if (!bias.empty()) {
    Tensor repeated(DType::kFloat32, {p.columns()});
    for (std::int64_t i = 0; i < p.columns(); ++i)
      repeated.mutable_data<float>()[static_cast<std::size_t>(i)] =
          bias.data<float>()[static_cast<std::size_t>(i % p.out_channels)];
    p.bias = pack_bias(routines, repeated);
  }
  return prepared;
}

void run(const KernelArgs& args) {
  const auto& p = static_cast<const PreparedUpsample&>(*args.prepared);
  const Tensor& x = *args.inputs[0];
  std::int64_t in_h = x.dim(2), in_w = x.dim(3), columns = p.columns(), piece = p.kernel_w * p.out_channels;
  Epilogue epilogue = read_epilogue(args.node, nullptr), plain;
  const float* images = x.data<float>().data();
  float* y = args.outputs[0].mutable_data<float>().data();
  args.pool.parallel_for(x.dim(0) * in_h, [&](std::int64_t row) {
    std::vector<const float*> pieces;
    for (std::int64_t i = 0; i < in_w; ++i) pieces.push_back(images + (row * in_w + i) * p.in_channels);
    std::vector<float> products(static_cast<std::size_t>(in_w * columns));
    args.simd->f32.multiply({.pieces = pieces.data(),
                             .piece_step = in_w,
                             .taps = 1,
                             .depth = p.in_channels,
                             .rows = in_w,
                             .weights = p.weights.data<float>().data(),
                             .bias = data_or_null(p.bias),
                             .columns = columns,
                             .alpha = 1,
                             .target = {.epilogue = &plain, .floats = products.data(), .stride = columns}});
    for (std::int64_t ky = 0; ky < p.kernel_h; ++ky) {
      float* to = y + (row * p.kernel_h + ky) * in_w * piece;
      const float* from = products.data() + ky * piece;
      for (std::int64_t i = 0; i < in_w; ++i)
        for (std::int64_t j = 0; j < piece; ++j) to[i * piece + j] = from[i * columns + j];
      if (epilogue.activation >= 0) args.simd->unary.activate(epilogue, to, to, in_w * piece);
    }
  });
}

}  // namespace

std::vector<Implementation> float_upsample() {
  return {{.op = "conv2d_transpose",
           .name = "upsample",
           .layout = LayoutNeed::kChannelsLast,
           .run = run,
           .fits = fits,
           .prepare = prepare,
           .drops_constants = true}};
}

}  // namespace octet::fast
