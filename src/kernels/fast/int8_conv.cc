#include "kernels/fast/int8_conv.h"

#include <algorithm>

#include "kernels/fast/fast.h"
#include "kernels/fast/int8_product.h"
#include "kernels/simd/simd.h"

// qconv2d and qmatmul.
namespace octet::fast {
namespace {

// Up to this many channels, of a number that does not fill units, the taps of a kernel's row are one run of a
// padded copy of the image.
constexpr std::int64_t kMaxMergedChannels = 16;

struct PackedConv : Prepared {
  PackedProduct product;
  LhsPacking packing;
};

// The left side of a convolution with `channels` channels in a group and kernel_h x kernel_w taps.
LhsLayout conv_form(std::int64_t channels, std::int64_t kernel_h, std::int64_t kernel_w, bool merged) {
  LhsLayout form;
  form.segments = merged ? kernel_h : kernel_h * kernel_w;
  form.length = merged ? kernel_w * channels : channels;
  for (std::int64_t tap = 0; tap < kernel_h * kernel_w; ++tap)
    for (std::int64_t c = 0; c < channels; ++c) form.offsets.push_back(c * kernel_h * kernel_w + tap);
  return form;
}

}  // namespace

std::shared_ptr<const Prepared> pack_conv(const simd::Int8Features& features, const Node& node,
                                          const Tensor& weight, const Rescaling& rescaling) {
  auto packed = std::make_shared<PackedConv>();
  std::int64_t columns = weight.dim(0), channels = weight.dim(1);
  std::int64_t kernel_h = weight.dim(2), kernel_w = weight.dim(3);
  std::int64_t groups = attr<std::int64_t>(node, "groups"), per_group = columns / groups;
  ops::Window window = ops::conv_window(node, kUnknown, kUnknown, kernel_h, kernel_w);
  packed->packing.copied = channels % 4 != 0;
  packed->packing.merged =
      packed->packing.copied && channels <= kMaxMergedChannels && groups == 1 && window.x.dilation == 1;
  packed->product.form = conv_form(channels, kernel_h, kernel_w, packed->packing.merged);
  std::int64_t step = channels * kernel_h * kernel_w;
  const WeightColumns weights = all_columns(weight);
  for (std::int64_t g = 0; g < groups; ++g)
    pack_panels(features, weights.part(g * per_group * step, step, per_group), lhs_range(node), rescaling,
                g * per_group, g * channels, packed->product);
  packed->product.form.offsets = {};
  return packed;
}

namespace {

std::shared_ptr<const Prepared> prepare_conv(const PrepareArgs& args) {
  return pack_conv(args.simd->i8.features, args.node, args.constant("weight"), Rescaling(args));
}

std::shared_ptr<const Prepared> prepare_matmul(const PrepareArgs& args) {
  auto packed = std::make_shared<PackedConv>();
  Tensor weight = args.constant("weight");
  bool transposed = attr<bool>(args.node, "transpose_y");
  std::int64_t inner = weight.dim(transposed ? 1 : 0), columns = weight.dim(transposed ? 0 : 1);
  LhsLayout form{.segments = 1, .length = inner, .offsets = {}};
  for (std::int64_t i = 0; i < inner; ++i) form.offsets.push_back(transposed ? i : i * columns);
  packed->product.form = std::move(form);
  pack_panels(args.simd->i8.features, all_columns(weight).part(0, transposed ? inner : 1, columns),
              lhs_range(args.node), Rescaling(args), 0, 0, packed->product);
  packed->packing.copied = inner % 4 != 0;
  packed->product.form.offsets = {};
  return packed;
}

// A convolution of `batch` images of `channels` channels; its memory and, given scratch memory, its run.
struct Convolution {
  Convolution(const KernelArgs& args, const ops::Window& window, std::int64_t batch, std::int64_t channels)
      : packed(static_cast<const PackedConv&>(*args.prepared)),
        left(packed.packing, window, batch, channels),
        rows(batch * window.y.out * window.x.out),
        chunk(chunk_rows(args, packed.product, rows)) {}

  std::size_t scratch(const KernelArgs& args) const {
    return left.bytes() + product_scratch(packed.product, chunk, args.pool.threads());
  }

  void run(const KernelArgs& args) {
    if (rows == 0 || packed.product.panels.empty()) return;
    left.fill(args, args.scratch.data());
    std::int64_t columns = args.outputs[0].size() / rows;
    Product product{.packed = packed.product,
                    .chunks = ceil_div(rows, chunk),
                    .chunk_rows = chunk,
                    .chunk =
                        [&](std::int64_t i) {
                          return Chunk{std::min(chunk, rows - i * chunk), i * chunk * columns, columns};
                        },
                    .point =
                        [&](std::int64_t i, const std::int8_t** pointers) {
                          left.image.point(args.simd->i8, i * chunk, std::min(chunk, rows - i * chunk), chunk,
                                           pointers);
                        }};
    run_product(args, product, args.scratch.data() + left.bytes());
  }

  const PackedConv& packed;
  LhsBuffer left;
  std::int64_t rows, chunk;
};

Convolution convolution(const KernelArgs& args) {
  const Tensor &x = *args.inputs[0], &weight = *args.input("weight");
  return {args, ops::conv_window(args.node, x.dim(2), x.dim(3), weight.dim(2), weight.dim(3)), x.dim(0),
          x.dim(1)};
}

// A product as a convolution of an image of one row, a pixel for each row of x.
Convolution product(const KernelArgs& args) {
  const Tensor& weight = *args.input("weight");
  bool transposed = attr<bool>(args.node, "transpose_y");
  std::int64_t columns = weight.dim(transposed ? 0 : 1);
  std::int64_t rows = columns == 0 ? 0 : args.outputs[0].size() / columns;
  ops::Window window;
  window.y = {.in = 1, .out = 1};
  window.x = {.in = rows, .out = rows};
  return {args, window, 1, weight.dim(transposed ? 1 : 0)};
}

}  // namespace

std::size_t int8_conv_scratch(const KernelArgs& args) {
  return convolution(args).scratch(args);
}
void run_int8_conv(const KernelArgs& args) {
  convolution(args).run(args);
}

std::vector<Implementation> int8() {
  return {int8_depthwise(),
          int8_transpose(),
          int8_winograd(),
          {.op = "qconv2d",
           .name = "int8 gemm",
           .layout = LayoutNeed::kChannelsLast,
           .run = run_int8_conv,
           .fits = can_pack,
           .prepare = prepare_conv,
           .scratch = int8_conv_scratch,
           .in_place = kResidual,
           .drops_constants = true},
          {.op = "qmatmul",
           .name = "int8 gemm",
           .layout = LayoutNeed::kPlain,
           .run = [](const KernelArgs& args) { product(args).run(args); },
           .fits = can_pack,
           .prepare = prepare_matmul,
           .scratch = [](const KernelArgs& args) { return product(args).scratch(args); },
           .in_place = kResidual,
           .drops_constants = true}};
}

}  // namespace octet::fast
