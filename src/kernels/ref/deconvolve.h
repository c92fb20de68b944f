#pragma once
#include "kernels/ref/convolve.h"

// Transposed convolution as plain sums, for floats (conv2d_transpose) and integers (qconv2d_transpose).
//
// Input i touches the output at p = i*stride + k*dilation (before cropping). The outputs whose p leaves the
// same remainder modulo the stride are touched by the same taps, and for them the op is a convolution of
// stride 1, with the taps in the order (ky, kx, input channel).
namespace octet::ref {

// One axis: like GridAxis, but it is the output that has the parts.
inline ops::WindowAxis input_side(ops::WindowAxis axis) {
  axis.out = axis.in;  // so that GridAxis::cells counts the cells of a part of the output
  return axis;
}

// Which cell of which part output o is; part -1: no tap touches it.
struct Cell {
  std::int64_t part = -1, index = 0;
};
Cell find_cell(const GridAxis& axis, std::int64_t o);

// Calls finish(output channel, index of the first output in y, sums, count) for each output row.
template <class In, class T, class Finish>
void deconvolve(const KernelArgs& args, Finish finish) {
  const Tensor &x = *args.inputs[0], &weight = *args.inputs[1];
  const Shape& out = args.outputs[0].shape();
  std::int64_t channels = x.dim(1), in_h = x.dim(2), in_w = x.dim(3), out_channels = out[1];
  std::int64_t per_group = weight.dim(1), kernel_h = weight.dim(2), kernel_w = weight.dim(3);
  std::int64_t group_channels = channels / (out_channels / per_group);
  ops::Window window = ops::conv_transpose_window(args.node, in_h, in_w, kernel_h, kernel_w);
  GridAxis y(input_side(window.y)), x_axis(input_side(window.x));

  // The image with zeros around it, as far as a tap may reach.
  std::int64_t margin_h = y.cells - in_h, margin_w = x_axis.cells - in_w;
  std::int64_t width = in_w + 2 * margin_w, plane = (in_h + 2 * margin_h) * width;

  // The taps of each part: where its cell (0, 0) finds them, and their weights' places in [channel, ky, kx].
  struct Part {
    std::vector<std::int64_t> offsets, weights;
  };
  auto columns = static_cast<std::int64_t>(x_axis.remainders.size());
  std::vector<Part> parts(y.remainders.size() * x_axis.remainders.size());
  for (std::int64_t ky = 0; ky < kernel_h; ++ky)
    for (std::int64_t kx = 0; kx < kernel_w; ++kx)
      for (std::int64_t c = 0; c < group_channels; ++c) {
        GridAxis::Tap ty = y.taps[static_cast<std::size_t>(ky)],
                      tx = x_axis.taps[static_cast<std::size_t>(kx)];
        Part& part = parts[static_cast<std::size_t>(ty.part * columns + tx.part)];
        part.offsets.push_back(c * plane + (margin_h - ty.shift) * width + margin_w - tx.shift);
        part.weights.push_back((c * per_group * kernel_h + ky) * kernel_w + kx);
      }

  constexpr std::int64_t kTaskRows = 64;
  std::int64_t tasks = (out[2] + kTaskRows - 1) / kTaskRows;
  for (std::int64_t n = 0; n < out[0]; ++n) {
    std::vector<T> cells(static_cast<std::size_t>(channels * plane));
    const In* image = x.data<In>().data() + n * channels * in_h * in_w;
    args.pool.parallel_for(channels, [&](std::int64_t c) {
      for (std::int64_t iy = 0; iy < in_h; ++iy)
        std::copy_n(image + (c * in_h + iy) * in_w, in_w,
                    cells.data() + c * plane + (iy + margin_h) * width + margin_w);
    });
    args.pool.parallel_for(tasks * out_channels, [&](std::int64_t task) {
      std::int64_t channel = task / tasks, first = task % tasks * kTaskRows;
      std::int64_t group = channel / per_group;
      const T* source = cells.data() + group * group_channels * plane;
      const In* taps = weight.data<In>().data() +
                       (group * group_channels * per_group + channel % per_group) * kernel_h * kernel_w;
      std::vector<std::vector<T>> weights;
      for (const Part& part : parts) {
        auto& values = weights.emplace_back();
        for (std::int64_t place : part.weights) values.push_back(static_cast<T>(taps[place]));
      }
      std::vector<T> sums(static_cast<std::size_t>(x_axis.cells)), row(static_cast<std::size_t>(out[3]));
      for (std::int64_t oy = first; oy < std::min(first + kTaskRows, out[2]); ++oy) {
        std::fill(row.begin(), row.end(), T{0});
        Cell cell = find_cell(y, oy);
        for (std::int64_t px = 0; cell.part >= 0 && px < columns; ++px) {
          auto index = static_cast<std::size_t>(cell.part * columns + px);
          const Part& part = parts[index];
          sum_products(source + cell.index * width, part.offsets.data(), weights[index].data(),
                       static_cast<std::int64_t>(part.offsets.size()), sums.data(), x_axis.cells);
          std::int64_t o = x_axis.remainders[static_cast<std::size_t>(px)] - window.x.before;
          for (std::int64_t cx = 0; cx < x_axis.cells && o < out[3]; ++cx, o += window.x.stride)
            if (o >= 0) row[static_cast<std::size_t>(o)] = sums[static_cast<std::size_t>(cx)];
        }
        finish(channel, ((n * out_channels + channel) * out[2] + oy) * out[3], row.data(), out[3]);
      }
    });
  }
}

}  // namespace octet::ref
