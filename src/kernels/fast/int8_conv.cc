#include <algorithm>
#include <cstring>

#include "kernels/fast/fast.h"
#include "kernels/fast/int8_product.h"
#include "kernels/simd/simd.h"

// qconv2d and qmatmul.
namespace octet::fast {
namespace {

// Rows are read in units of 4 bytes, so behind each memory that is read there must be a few more.
constexpr std::int64_t kSlack = 64;
// Up to this many channels, of a number that does not fill units, the taps of a kernel's row are one run of a
// padded copy of the image.
constexpr std::int64_t kMaxMergedChannels = 16;

struct PackedConv : Prepared {
  PackedProduct product;
  bool copied[2] = {}, merged[2] = {};  // how the narrow and the wide form read the image
};

// The left side of a convolution with `channels` channels in a group and kernel_h x kernel_w taps.
LeftForm conv_form(std::int64_t channels, std::int64_t kernel_h, std::int64_t kernel_w, bool merged) {
  LeftForm form;
  form.segments = merged ? kernel_h : kernel_h * kernel_w;
  form.length = merged ? kernel_w * channels : channels;
  for (std::int64_t tap = 0; tap < kernel_h * kernel_w; ++tap)
    for (std::int64_t c = 0; c < channels; ++c) form.offsets.push_back(c * kernel_h * kernel_w + tap);
  return form;
}

std::shared_ptr<const Prepared> prepare_conv(const PrepareArgs& args) {
  auto packed = std::make_shared<PackedConv>();
  Tensor weight = args.constant(1);
  std::int64_t columns = weight.dim(0), channels = weight.dim(1);
  std::int64_t kernel_h = weight.dim(2), kernel_w = weight.dim(3);
  std::int64_t groups = attr<std::int64_t>(args.node, "groups"), per_group = columns / groups;
  ops::Window window = ops::conv_window(args.node, kUnknown, kUnknown, kernel_h, kernel_w);
  for (bool wide : {false, true}) {
    packed->copied[wide] = wide || channels % 4 != 0;
    packed->merged[wide] = channels % (wide ? 2 : 4) != 0 && channels <= kMaxMergedChannels && groups == 1 &&
                           window.x.dilation == 1;
    (wide ? packed->product.wide : packed->product.narrow) =
        conv_form(channels, kernel_h, kernel_w, packed->merged[wide]);
  }
  Rescaling rescaling(args);
  std::int64_t step = channels * kernel_h * kernel_w;
  for (std::int64_t g = 0; g < groups; ++g)
    pack_panels(args.simd->i8.features,
                {weight.data<std::int8_t>().data() + g * per_group * step, step, per_group},
                left_range(args.node), rescaling, g * per_group, g * channels, packed->product);
  return packed;
}

std::shared_ptr<const Prepared> prepare_matmul(const PrepareArgs& args) {
  auto packed = std::make_shared<PackedConv>();
  Tensor weight = args.constant(1);
  bool transposed = attr<bool>(args.node, "transpose_y");
  std::int64_t inner = weight.dim(transposed ? 1 : 0), columns = weight.dim(transposed ? 0 : 1);
  LeftForm form{.segments = 1, .length = inner, .offsets = {}};
  for (std::int64_t i = 0; i < inner; ++i) form.offsets.push_back(transposed ? i : i * columns);
  packed->product.narrow = packed->product.wide = std::move(form);
  packed->copied[0] = inner % 4 != 0;
  packed->copied[1] = true;
  pack_panels(args.simd->i8.features, {weight.data<std::int8_t>().data(), transposed ? inner : 1, columns},
              left_range(args.node), Rescaling(args), 0, 0, packed->product);
  return packed;
}

// One form of the left side: in place, or as a copy in scratch memory.
struct Side {
  LeftImage image;
  std::size_t bytes = 0;  // of the copy
};

Side side_of(const PackedConv& packed, const ops::Window& window, std::int64_t batch, std::int64_t channels,
             bool wide) {
  Side side;
  LeftImage& image = side.image;
  image.window = window;
  if (packed.merged[wide]) {
    for (ops::WindowAxis* axis : {&image.window.y, &image.window.x}) {
      axis->in = (axis->out - 1) * axis->stride + (axis->kernel - 1) * axis->dilation + 1;
      axis->before = axis->after = 0;
    }
  }
  image.pixel = channels * (wide ? 2 : 1);
  image.row = image.window.x.in * image.pixel;
  image.image = image.window.y.in * image.row;
  if (packed.merged[wide]) image.window.x.kernel = 1;
  if (packed.copied[wide]) side.bytes = static_cast<std::size_t>(batch * image.image + kSlack);
  return side;
}

// Copies the images into a side's memory, with zeros around them where the side has no paddings of its own.
void copy_images(const KernelArgs& args, const Side& side, const ops::Window& window, std::int64_t batch,
                 std::int64_t channels, bool wide, std::int8_t* to) {
  const LeftImage& image = side.image;
  const std::int8_t* x = args.inputs[0]->data<std::int8_t>().data();
  std::int64_t height = image.window.y.in, width = image.row / image.pixel;
  std::int64_t top = window.y.before - image.window.y.before;
  std::int64_t left = window.x.before - image.window.x.before;
  std::int64_t used = std::clamp<std::int64_t>(width - left, 0, window.x.in);
  auto copy = [&](const std::int8_t* from, std::int8_t* at, std::int64_t count) {
    if (wide)
      args.simd->i8.widen(from, reinterpret_cast<std::int16_t*>(at), count);
    else
      std::memcpy(at, from, static_cast<std::size_t>(count));
  };
  auto clear = [](std::int8_t* at, std::int64_t bytes) {
    std::memset(at, 0, static_cast<std::size_t>(bytes));
  };
  constexpr std::int64_t kBytes = 1 << 16;
  std::int64_t rows = batch * height,
               task_rows = std::max<std::int64_t>(kBytes / std::max<std::int64_t>(image.row, 1), 1);
  args.pool.parallel_for((rows + task_rows - 1) / task_rows, [&](std::int64_t task) {
    for (std::int64_t r = task * task_rows; r < std::min((task + 1) * task_rows, rows); ++r) {
      std::int8_t* row = to + r * image.row;
      std::int64_t y = r % height - top;
      if (y < 0 || y >= window.y.in) {
        clear(row, image.row);
        continue;
      }
      clear(row, std::min(left * image.pixel, image.row));
      copy(x + (r / height * window.y.in + y) * window.x.in * channels, row + left * image.pixel,
           used * channels);
      clear(row + std::min(left, width) * image.pixel + used * image.pixel,
            image.row - (std::min(left, width) + used) * image.pixel);
    }
  });
  clear(to + batch * image.image, kSlack);
}

std::size_t aligned(std::size_t bytes) {
  return (bytes + 63) / 64 * 64;
}

// A convolution of `batch` images of `channels` channels; its memory and, given scratch memory, its run.
struct Convolution {
  Convolution(const KernelArgs& args, const ops::Window& window, std::int64_t batch, std::int64_t channels)
      : packed(static_cast<const PackedConv&>(*args.prepared)),
        window(window),
        batch(batch),
        channels(channels),
        rows(batch * window.y.out * window.x.out),
        chunk(chunk_rows(packed.product, rows, args.pool.threads())) {
    for (bool wide : {false, true}) {
      sides[wide] = side_of(packed, window, batch, channels, wide);
      if (!packed.product.uses(wide)) sides[wide].bytes = 0;
    }
  }

  std::size_t zero_bytes() const { return aligned(static_cast<std::size_t>(2 * channels + kSlack)); }
  std::size_t scratch(const KernelArgs& args) const {
    return zero_bytes() + aligned(sides[0].bytes) + aligned(sides[1].bytes) +
           product_scratch(packed.product, chunk, args.pool.threads());
  }

  void run(const KernelArgs& args) {
    if (rows == 0 || packed.product.panels.empty()) return;
    std::byte* memory = args.scratch.data();
    auto* zeros = reinterpret_cast<std::int8_t*>(memory);
    std::memset(zeros, 0, zero_bytes());
    memory += zero_bytes();
    for (bool wide : {false, true}) {
      sides[wide].image.zeros = zeros;
      sides[wide].image.data = args.inputs[0]->data<std::int8_t>().data();
      if (sides[wide].bytes == 0) continue;
      auto* copy = reinterpret_cast<std::int8_t*>(memory);
      copy_images(args, sides[wide], window, batch, channels, wide, copy);
      sides[wide].image.data = copy;
      memory += aligned(sides[wide].bytes);
    }
    std::int64_t columns = args.outputs[0].size() / rows;
    Product product{.packed = packed.product,
                    .chunks = (rows + chunk - 1) / chunk,
                    .chunk_rows = chunk,
                    .chunk =
                        [&](std::int64_t i) {
                          return Chunk{std::min(chunk, rows - i * chunk), i * chunk * columns, columns};
                        },
                    .point =
                        [&](std::int64_t i, bool wide, const std::int8_t** pointers) {
                          sides[wide].image.point(i * chunk, std::min(chunk, rows - i * chunk), chunk,
                                                  pointers);
                        }};
    run_product(args, product, memory);
  }

  const PackedConv& packed;
  ops::Window window;
  std::int64_t batch, channels, rows, chunk;
  Side sides[2];
};

Convolution convolution(const KernelArgs& args) {
  const Tensor &x = *args.inputs[0], &weight = *args.inputs[1];
  return {args, ops::conv_window(args.node, x.dim(2), x.dim(3), weight.dim(2), weight.dim(3)), x.dim(0),
          x.dim(1)};
}

// A product as a convolution of an image of one row, a pixel for each row of x.
Convolution product(const KernelArgs& args) {
  const Tensor& weight = *args.inputs[1];
  bool transposed = attr<bool>(args.node, "transpose_y");
  std::int64_t columns = weight.dim(transposed ? 0 : 1);
  std::int64_t rows = columns == 0 ? 0 : args.outputs[0].size() / columns;
  ops::Window window;
  window.y = {.in = 1, .out = 1};
  window.x = {.in = rows, .out = rows};
  return {args, window, 1, weight.dim(transposed ? 1 : 0)};
}

}  // namespace

std::vector<Implementation> int8() {
  return {int8_depthwise(),
          {.op = "qconv2d",
           .name = "int8 gemm",
           .layout = LayoutNeed::kChannelsLast,
           .run = [](const KernelArgs& args) { convolution(args).run(args); },
           .fits = can_pack,
           .prepare = prepare_conv,
           .scratch = [](const KernelArgs& args) { return convolution(args).scratch(args); },
           .drops_constants = true},
          {.op = "qmatmul",
           .name = "int8 gemm",
           .layout = LayoutNeed::kPlain,
           .run = [](const KernelArgs& args) { product(args).run(args); },
           .fits = can_pack,
           .prepare = prepare_matmul,
           .scratch = [](const KernelArgs& args) { return product(args).scratch(args); },
           .drops_constants = true}};
}

}  // namespace octet::fast
