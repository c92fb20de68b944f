#include <algorithm>

#include "kernels/fast/fast.h"
#include "kernels/fast/float_conv.h"

// conv2d as a product of matrices: a row for each output pixel, with the pixels under the kernel found by
// pointers instead of being copied to a matrix.
namespace octet::fast {
namespace {

struct PreparedConv : Prepared {
  std::int64_t groups, out_channels, group_channels, kernel_h, kernel_w;
  Tensor weights;  // packed, group after group
  std::int64_t group_size = 0;
  std::vector<Tensor> bias;  // one a group, or none
  std::vector<float> zeros;  // what taps in the padding read
};

}  // namespace

std::shared_ptr<const Prepared> prepare_conv(const PrepareArgs& args) {
  auto prepared = std::make_shared<PreparedConv>();
  PreparedConv& p = *prepared;
  const simd::FloatRoutines& routines = args.simd->f32;
  Tensor weight = args.constant(1).aligned(), bias = args.constant(2);
  p.groups = attr<std::int64_t>(args.node, "groups");
  p.out_channels = weight.dim(0);
  p.group_channels = weight.dim(1);
  p.kernel_h = weight.dim(2);
  p.kernel_w = weight.dim(3);
  std::int64_t area = p.kernel_h * p.kernel_w, depth = area * p.group_channels;
  std::int64_t columns = p.out_channels / p.groups;
  p.group_size = packed_size(routines, depth, columns);
  p.weights = Tensor(DType::kFloat32, {p.groups * p.group_size});
  for (std::int64_t group = 0; group < p.groups; ++group) {
    const float* from = weight.data<float>().data() + group * columns * depth;
    auto at = [&](std::int64_t k, std::int64_t column) {
      return from[(column * p.group_channels + k % p.group_channels) * area + k / p.group_channels];
    };
    pack_panels(routines, depth, columns, at, p.weights.mutable_data<float>().data() + group * p.group_size);
    if (bias.empty()) continue;
    Tensor part(DType::kFloat32, {columns});
    std::copy_n(bias.aligned().data<float>().begin() + group * columns, columns,
                part.mutable_data<float>().begin());
    p.bias.push_back(pack_bias(routines, part));
  }
  p.zeros.assign(static_cast<std::size_t>(p.group_channels * p.kernel_w), 0.0f);
  return prepared;
}

namespace {

// The places of the pixels under the kernel, for some output pixels in a row.
class Pieces {
 public:
  Pieces(const KernelArgs& args, const PreparedConv& prepared)
      : prepared_(prepared),
        x_(args.inputs[0]->data<float>().data()),
        channels_(args.inputs[0]->dim(1)),
        window_(ops::conv_window(args.node, args.inputs[0]->dim(2), args.inputs[0]->dim(3), prepared.kernel_h,
                                 prepared.kernel_w)) {
    // With few channels a piece of one pixel is too short a loop. A whole row of the kernel lies in one piece
    // in memory; where it sticks out of the image, it is copied.
    constexpr std::int64_t kFew = 32;
    merges_ = prepared.groups == 1 && window_.x.dilation == 1 && prepared.kernel_w > 1 && channels_ <= kFew;
    taps_ = merges_ ? prepared.kernel_h : prepared.kernel_h * prepared.kernel_w;
    depth_ = merges_ ? prepared.kernel_w * channels_ : prepared.group_channels;
  }

  const ops::Window& window() const { return window_; }
  std::int64_t taps() const { return taps_; }
  std::int64_t depth() const { return depth_; }

  // Of the pixels [first, first + count), in the order of memory.
  void find(std::int64_t first, std::int64_t count) {
    const ops::WindowAxis &wy = window_.y, &wx = window_.x;
    pieces_.resize(static_cast<std::size_t>(taps_ * count));
    copies_.clear();
    if (merges_) copies_.reserve(static_cast<std::size_t>(count * taps_ * depth_));  // never moves
    std::int64_t ox = first % wx.out, oy = first / wx.out % wy.out, n = first / (wx.out * wy.out);
    for (std::int64_t r = 0; r < count; ++r) {
      const float** out = pieces_.data() + r;
      std::int64_t y = oy * wy.stride - wy.before, x = ox * wx.stride - wx.before;
      for (std::int64_t ky = 0; ky < wy.kernel; ++ky, y += wy.dilation) {
        if (y < 0 || y >= wy.in) {
          for (std::int64_t t = 0; t < taps_ / wy.kernel; ++t, out += count) *out = prepared_.zeros.data();
          continue;
        }
        const float* row = x_ + (n * wy.in + y) * wx.in * channels_;
        if (merges_) {
          *out = x >= 0 && x + wx.kernel <= wx.in ? row + x * channels_ : copy(row, x);
          out += count;
          continue;
        }
        std::int64_t at = x;
        for (std::int64_t kx = 0; kx < wx.kernel; ++kx, at += wx.dilation, out += count)
          *out = at >= 0 && at < wx.in ? row + at * channels_ : nullptr;
      }
      if (++ox < wx.out) continue;
      ox = 0;
      if (++oy < wy.out) continue;
      oy = 0;
      ++n;
    }
  }

  // The pieces of a group's channels.
  const float* const* of_group(std::int64_t group) {
    if (merges_) return pieces_.data();
    found_.resize(pieces_.size());
    const float* zeros = prepared_.zeros.data();
    std::int64_t offset = group * prepared_.group_channels;
    for (std::size_t i = 0; i < pieces_.size(); ++i)
      found_[i] = pieces_[i] && pieces_[i] != zeros ? pieces_[i] + offset : zeros;
    return found_.data();
  }

 private:
  const float* copy(const float* row, std::int64_t x) {
    std::size_t begin = copies_.size();
    copies_.resize(begin + static_cast<std::size_t>(depth_), 0.0f);
    std::int64_t first = std::max<std::int64_t>(x, 0), end = std::min(x + window_.x.kernel, window_.x.in);
    if (first < end)
      std::copy(row + first * channels_, row + end * channels_,
                copies_.data() + begin + (first - x) * channels_);
    return copies_.data() + begin;
  }

  const PreparedConv& prepared_;
  const float* x_;
  std::int64_t channels_;
  ops::Window window_;
  bool merges_ = false;
  std::int64_t taps_ = 0, depth_ = 0;
  std::vector<const float*> pieces_, found_;
  std::vector<float> copies_;
};

}  // namespace

void run_conv(const KernelArgs& args) {
  const auto& p = static_cast<const PreparedConv&>(*args.prepared);
  Epilogue epilogue = read_epilogue(args.node, args.input(3));
  simd::FloatTarget target = find_target(args, epilogue, p.out_channels);
  const Pieces shape(args, p);
  const ops::Window& window = shape.window();
  std::int64_t rows = args.inputs[0]->dim(0) * window.y.out * window.x.out;
  std::int64_t columns = p.out_channels / p.groups, depth = shape.taps() * shape.depth();
  // Neighbouring pixels share most of what they read.
  std::int64_t row_bytes = args.inputs[0]->dim(1) * p.kernel_h * 4;
  Tasks tasks = split_product(args, rows, columns, row_bytes, depth * p.groups);
  args.pool.parallel_for(tasks.count(), [&](std::int64_t task) {
    std::int64_t row = tasks.first_row(task), count = tasks.row_count(task);
    std::int64_t column = tasks.first_column(task);
    Pieces pieces = shape;
    pieces.find(row, count);
    for (std::int64_t group = 0; group < p.groups; ++group) {
      const float* weights = p.weights.data<float>().data() + group * p.group_size;
      const float* bias = p.bias.empty() ? nullptr : data_or_null(p.bias[static_cast<std::size_t>(group)]);
      args.simd->f32.multiply({.pieces = pieces.of_group(group),
                               .piece_step = count,
                               .taps = shape.taps(),
                               .depth = shape.depth(),
                               .rows = count,
                               .weights = weights + column * depth,
                               .bias = bias ? bias + column : nullptr,
                               .columns = tasks.column_count(task),
                               .alpha = 1,
                               .target = advance(target, row * p.out_channels + group * columns + column)});
    }
  });
}

std::vector<Implementation> float_conv() {
  return {{.op = "conv2d",
           .name = "gemm",
           .layout = LayoutNeed::kChannelsLast,
           .run = run_conv,
           .fits = constants_are_weights,
           .prepare = prepare_conv,
           .drops_constants = true}};
}

}  // namespace octet::fast
