#include "kernels/fast/float_conv.h"

#include <algorithm>

#include "kernels/fast/fast.h"

// conv2d as a product of matrices: a row for each output pixel, with the pixels under the kernel found by
// pointers instead of being copied to a matrix.
namespace octet::fast {
namespace {

struct PreparedConv : Prepared {
  std::int64_t groups, out_channels, group_channels, kernel_h, kernel_w;
  Tensor weights;  // packed, group after group
  std::int64_t group_size = 0;
  std::vector<Tensor> bias;  // one per group, or none
  std::vector<float> zeros;  // what taps in the padding read
};

}  // namespace

std::shared_ptr<const Prepared> pack_conv(const simd::FloatRoutines& routines, const Tensor& weight,
                                          const Tensor& bias, std::int64_t groups) {
  auto prepared = std::make_shared<PreparedConv>();
  PreparedConv& p = *prepared;
  p.groups = groups;
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
    std::copy_n(bias.data<float>().begin() + group * columns, columns, part.mutable_data<float>().begin());
    p.bias.push_back(pack_bias(routines, part));
  }
  p.zeros.assign(static_cast<std::size_t>(p.group_channels * p.kernel_w), 0.0f);
  return prepared;
}

namespace {

// A gate is for convolutions of one tap.
bool fits_conv(const PrepareArgs& args) {
  const Shape& weight = args.value("weight")->shape;
  bool one_tap = weight[2] == 1 && weight[3] == 1 && attr<std::int64_t>(args.node, "groups") == 1;
  return constants_are_weights(args) && (one_tap || !args.value("gate"));
}

std::shared_ptr<const Prepared> prepare_conv(const PrepareArgs& args) {
  return pack_conv(args.simd->f32, args.constant("weight").aligned(), args.constant("bias").aligned(),
                   attr<std::int64_t>(args.node, "groups"));
}

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

  // Of the pixels [first, first + count), in the order of memory: `count` for each tap.
  void find(std::int64_t first, std::int64_t count) {
    const ops::WindowAxis &wy = window_.y, &wx = window_.x;
    pieces_.resize(static_cast<std::size_t>(taps_ * count));
    if (merges_) copies_.reserve(static_cast<std::size_t>(count * taps_ * depth_));  // never moves
    std::int64_t taps_x = taps_ / wy.kernel;
    // Row by row of the output: what a tap finds there is the same for a whole run of pixels.
    for (std::int64_t done = 0, run; done < count; done += run) {
      std::int64_t ox = (first + done) % wx.out, row = (first + done) / wx.out;
      run = std::min(count - done, wx.out - ox);
      std::int64_t n = row / wy.out, y = row % wy.out * wy.stride - wy.before;
      for (std::int64_t ky = 0; ky < wy.kernel; ++ky, y += wy.dilation) {
        const float** out = pieces_.data() + ky * taps_x * count + done;
        const float* line = y >= 0 && y < wy.in ? x_ + (n * wy.in + y) * wx.in * channels_ : nullptr;
        for (std::int64_t kx = 0; kx < taps_x; ++kx, out += count) find_run(line, kx, ox, run, out);
      }
    }
  }

  // The pieces of a group's channels.
  const float* const* of_group(std::int64_t group) {
    if (prepared_.groups == 1) return pieces_.data();
    found_.resize(pieces_.size());
    const float* zeros = prepared_.zeros.data();
    std::int64_t offset = group * prepared_.group_channels;
    for (std::size_t i = 0; i < pieces_.size(); ++i)
      found_[i] = pieces_[i] == zeros ? zeros : pieces_[i] + offset;
    return found_.data();
  }

 private:
  // One tap of the outputs [ox, ox + run) of a row; `line` is the row of the image, null when it has no such.
  void find_run(const float* line, std::int64_t kx, std::int64_t ox, std::int64_t run, const float** out) {
    const ops::WindowAxis& wx = window_.x;
    const float* zeros = prepared_.zeros.data();
    if (!line) {
      std::fill_n(out, run, zeros);
      return;
    }
    // Output i reads from column i * stride - before on, and finds all it wants for i in [begin, end).
    std::int64_t before = wx.before - kx * wx.dilation, width = merges_ ? wx.kernel : 1;
    std::int64_t begin = before > 0 ? divide_up(before, wx.stride) : 0, room = wx.in - width + before;
    std::int64_t end = room < 0 ? 0 : room / wx.stride + 1, i = 0;
    for (; i < run && ox + i < begin; ++i)
      out[i] = merges_ ? copy(line, (ox + i) * wx.stride - before) : zeros;
    const float* pixel = line + ((ox + i) * wx.stride - before) * channels_;
    for (std::int64_t step = wx.stride * channels_; i < run && ox + i < end; ++i, pixel += step)
      out[i] = pixel;
    for (; i < run; ++i) out[i] = merges_ ? copy(line, (ox + i) * wx.stride - before) : zeros;
  }

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

// The weights of one image with a gate, in scratch memory: those that meet an input channel times its number.
const float* times_gate(const KernelArgs& args, const PreparedConv& p, const Tensor& gate,
                        std::int64_t image) {
  const float* factors = gate.data<float>().data() + image * p.group_channels;
  const float* from = p.weights.data<float>().data();
  auto* const scaled = reinterpret_cast<float*>(args.scratch.data());
  float* to = scaled;
  for (std::int64_t first = 0, width; first < p.out_channels; first += width) {
    width = args.simd->f32.panel_width(p.out_channels - first);
    for (std::int64_t k = 0; k < p.group_channels; ++k, from += width, to += width)
      for (std::int64_t j = 0; j < width; ++j) to[j] = from[j] * factors[k];
  }
  return scaled;
}

std::size_t conv_scratch(const KernelArgs& args) {
  const auto& p = static_cast<const PreparedConv&>(*args.prepared);
  return args.input("gate") ? static_cast<std::size_t>(p.group_size) * sizeof(float) : 0;
}

}  // namespace

void run_conv(const KernelArgs& args) {
  const auto& p = static_cast<const PreparedConv&>(*args.prepared);
  Epilogue epilogue = read_epilogue(args.node, args.input("out_scale"));
  simd::FloatTarget target = find_target(args, epilogue, p.out_channels);
  const Pieces shape(args, p);
  const ops::Window& window = shape.window();
  std::int64_t rows = args.inputs[0]->dim(0) * window.y.out * window.x.out;
  std::int64_t columns = p.out_channels / p.groups, depth = shape.taps() * shape.depth();
  // Neighbouring outputs share what they read: each adds as many pixels as the strides say, and a block needs
  // the rows of the image that the kernel reaches beyond that.
  std::int64_t pixel_bytes = args.inputs[0]->dim(1) * 4;
  std::int64_t row_bytes = pixel_bytes * window.y.stride * window.x.stride;
  std::int64_t shared_bytes = pixel_bytes * window.x.in * (p.kernel_h - 1);
  const Tensor* gate = args.input("gate");
  std::int64_t images = gate ? args.inputs[0]->dim(0) : 1;  // which have weights of their own
  Tasks tasks = split_product(args, rows / std::max<std::int64_t>(images, 1), columns, row_bytes,
                              depth * p.groups, shared_bytes);
  const float* all_weights = p.weights.data<float>().data();
  auto run_task = [&](std::int64_t task, std::int64_t image) {
    std::int64_t row = image * tasks.rows + tasks.first_row(task), count = tasks.row_count(task);
    std::int64_t column = tasks.first_column(task);
    Pieces pieces = shape;
    pieces.find(row, count);
    for (std::int64_t group = 0; group < p.groups; ++group) {
      const float* weights = all_weights + group * p.group_size;
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
  };
  for (std::int64_t image = 0; image < images; ++image) {
    if (gate) all_weights = times_gate(args, p, *gate, image);
    args.pool.parallel_for(tasks.count(), [&](std::int64_t task) { run_task(task, image); });
  }
}

std::vector<Implementation> float_conv() {
  return {{.op = "conv2d",
           .name = "gemm",
           .layout = LayoutNeed::kChannelsLast,
           .run = run_conv,
           .fits = fits_conv,
           .prepare = prepare_conv,
           .scratch = conv_scratch,
           .drops_constants = true}};
}

}  // namespace octet::fast
