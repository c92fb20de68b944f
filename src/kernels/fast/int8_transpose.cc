#include "kernels/fast/int8_product.h"
#include "kernels/simd/simd.h"

// qconv2d_transpose. Input i adds to the output at i*stride - before + k*dilation. Outputs that leave the
// same remainder of position + before modulo the stride are reached by the same taps: for them the op is a
// product, whose rows gather the pixels that reach an output. Where the taps of a row reach one output each,
// as the stride is the kernel's width, one product makes them all: they lie side by side.
namespace octet::fast {
namespace {

// A tap of one axis: output cell c of its remainder is reached from input c - shift.
struct Tap {
  std::int64_t k, shift;
};

std::vector<Tap> taps_of(const ops::WindowAxis& axis, std::int64_t remainder) {
  std::vector<Tap> taps;
  for (std::int64_t k = 0; k < axis.kernel; ++k)
    if (k * axis.dilation % axis.stride == remainder) taps.push_back({k, k * axis.dilation / axis.stride});
  return taps;
}

// The outputs of one remainder in each axis.
struct Part {
  std::int64_t remainder_y, remainder_x;
  std::vector<Tap> y, x;
  PackedProduct product;
};

struct PackedTranspose : Prepared {
  std::vector<Part> parts;
  LhsPacking packing;
};

bool fits(const PrepareArgs& args) {
  constexpr std::int64_t kMaxParts = 64;
  auto strides = attr<std::vector<std::int64_t>>(args.node, "strides");
  return can_pack(args) && strides.size() == 2 && strides[0] * strides[1] <= kMaxParts;
}

// Whether each input makes as many outputs beside each other as there are taps in a row, of its own.
bool taps_lie_side_by_side(const Node& node, const ops::WindowAxis& x, std::int64_t groups) {
  auto extra = attr<std::vector<std::int64_t>>(node, "output_padding");
  return groups == 1 && x.kernel == x.stride && x.kernel > 1 && x.dilation == 1 && x.before == 0 &&
         x.after == 0 && attr<std::vector<std::int64_t>>(node, "output_size").empty() &&
         (extra.empty() || extra[1] == 0) && attr<std::string>(node, "auto_pad") == "explicit";
}

// The product of a row of taps that lie side by side: a column for each of them and each output channel.
void pack_row(const PrepareArgs& args, const Tensor& weight, const std::vector<std::int16_t>& weights,
              Part& part) {
  std::int64_t channels = weight.dim(0), outputs = weight.dim(1), kernel_w = weight.dim(3);
  LhsLayout& form = part.product.form;
  form.segments = static_cast<std::int64_t>(part.y.size());
  form.length = channels;
  std::int64_t depth = form.segments * channels;
  for (std::int64_t i = 0; i < depth; ++i) form.offsets.push_back(i);
  std::vector<std::int16_t> columns;
  for (std::int64_t kx = 0; kx < kernel_w; ++kx)
    for (std::int64_t o = 0; o < outputs; ++o)
      for (Tap y : part.y)
        for (std::int64_t c = 0; c < channels; ++c)
          columns.push_back(
              weights[static_cast<std::size_t>(((c * outputs + o) * weight.dim(2) + y.k) * kernel_w + kx)]);
  pack_panels(args.simd->i8.features, {.words = columns.data(), .step = depth, .count = kernel_w * outputs},
              lhs_range(args.node), Rescaling(args).repeated(kernel_w), 0, 0, part.product);
  form.offsets = {};
}

std::shared_ptr<const Prepared> prepare(const PrepareArgs& args) {
  auto packed = std::make_shared<PackedTranspose>();
  Tensor weight = args.constant("weight");
  std::int64_t groups = attr<std::int64_t>(args.node, "groups"), channels = weight.dim(0) / groups;
  std::int64_t per_group = weight.dim(1), kernel_w = weight.dim(3), taps = weight.dim(2) * kernel_w;
  ops::Window window = ops::conv_transpose_window(args.node, kUnknown, kUnknown, weight.dim(2), kernel_w);
  packed->packing.copied = channels % 4 != 0;
  const std::vector<std::int16_t> weights = weights_of(weight);
  if (taps_lie_side_by_side(args.node, window.x, groups)) {
    for (std::int64_t ry = 0; ry < window.y.stride; ++ry) {
      Part& part = packed->parts.emplace_back(Part{ry, 0, taps_of(window.y, ry), {{0, 0}}, {}});
      pack_row(args, weight, weights, part);
    }
    return packed;
  }
  Rescaling rescaling(args);
  for (std::int64_t ry = 0; ry < window.y.stride; ++ry)
    for (std::int64_t rx = 0; rx < window.x.stride; ++rx) {
      Part part{ry, rx, taps_of(window.y, ry), taps_of(window.x, rx), {}};
      LhsLayout& form = part.product.form;
      form.segments = static_cast<std::int64_t>(part.y.size() * part.x.size());
      form.length = channels;
      for (Tap y : part.y)
        for (Tap x : part.x)
          for (std::int64_t c = 0; c < channels; ++c)
            form.offsets.push_back(c * per_group * taps + y.k * kernel_w + x.k);
      for (std::int64_t g = 0; g < groups; ++g)
        pack_panels(args.simd->i8.features,
                    all_columns(weight).part(g * channels * per_group * taps, taps, per_group),
                    lhs_range(args.node), rescaling, g * per_group, g * channels, part.product);
      form.offsets = {};
      packed->parts.push_back(std::move(part));
    }
  return packed;
}

// The outputs of an axis with a remainder: the first of them, its cell, and how many there are.
struct Cells {
  Cells(const ops::WindowAxis& axis, std::int64_t remainder) {
    first = (remainder - axis.before % axis.stride + axis.stride) % axis.stride;
    cell = (first + axis.before) / axis.stride;
    count = first < axis.out ? (axis.out - first + axis.stride - 1) / axis.stride : 0;
  }
  std::int64_t first, cell, count;
};

class Transpose {
 public:
  explicit Transpose(const KernelArgs& args)
      : packed_(static_cast<const PackedTranspose&>(*args.prepared)),
        window_(find_window(args)),
        batch_(args.inputs[0]->dim(0)),
        left_(packed_.packing, window_, batch_, args.inputs[0]->dim(1)),
        cells_((window_.x.out + window_.x.stride - 1) / window_.x.stride) {}

  std::size_t scratch(const KernelArgs& args) const {
    std::size_t most = 0;
    for (const Part& part : packed_.parts)
      most = std::max(most, product_scratch(part.product, cells_, args.pool.threads()));
    return left_.bytes() + most;
  }

  void run(const KernelArgs& args) {
    if (args.outputs[0].size() == 0) return;
    left_.fill(args, args.scratch.data());
    std::int64_t columns = args.outputs[0].dim(1);
    for (const Part& part : packed_.parts) {
      Cells y(window_.y, part.remainder_y), x(window_.x, part.remainder_x);
      Product product{.packed = part.product,
                      .chunks = batch_ * y.count,
                      .chunk_rows = cells_,
                      .chunk =
                          [&](std::int64_t i) {
                            std::int64_t oy = y.first + i % y.count * window_.y.stride;
                            std::int64_t pixel = (i / y.count * window_.y.out + oy) * window_.x.out + x.first;
                            return Chunk{x.count, pixel * columns, window_.x.stride * columns};
                          },
                      .point =
                          [&](std::int64_t i, const std::int8_t** pointers) {
                            point(args, part, i / y.count, y.cell + i % y.count, x, pointers);
                          }};
      run_product(args, product, args.scratch.data() + left_.bytes());
    }
  }

 private:
  static ops::Window find_window(const KernelArgs& args) {
    const Tensor &x = *args.inputs[0], &weight = *args.input("weight");
    return ops::conv_transpose_window(args.node, x.dim(2), x.dim(3), weight.dim(2), weight.dim(3));
  }

  void point(const KernelArgs& args, const Part& part, std::int64_t image, std::int64_t cell_y,
             const Cells& x, const std::int8_t** pointers) const {
    const LhsImage& left = left_.image;
    for (Tap ty : part.y)
      for (Tap tx : part.x) {
        std::int64_t iy = cell_y - ty.shift, ix = x.cell - tx.shift;  // of the first cell
        bool inside = iy >= 0 && iy < window_.y.in;
        std::int64_t begin = std::clamp<std::int64_t>(-ix, 0, x.count);
        std::int64_t end = inside ? std::clamp(window_.x.in - ix, begin, x.count) : begin;
        std::fill_n(pointers, begin, left.padding);
        if (end > begin)
          args.simd->i8.point(left.data + image * left.image + iy * left.row + (ix + begin) * left.pixel,
                              left.pixel, end - begin, pointers + begin);
        std::fill(pointers + end, pointers + x.count, left.padding);
        pointers += cells_;
      }
  }

  const PackedTranspose& packed_;
  ops::Window window_;
  std::int64_t batch_;
  LhsBuffer left_;
  std::int64_t cells_;  // at most, in a row of a part
};

}  // namespace

Implementation int8_transpose() {
  return {.op = "qconv2d_transpose",
          .name = "int8 gemm",
          .layout = LayoutNeed::kChannelsLast,
          .run = [](const KernelArgs& args) { Transpose(args).run(args); },
          .fits = fits,
          .prepare = prepare,
          .scratch = [](const KernelArgs& args) { return Transpose(args).scratch(args); },
          .in_place = kResidual,
          .drops_constants = true};
}

}  // namespace octet::fast
