#pragma once
#include <algorithm>
#include <vector>

#include "graph/ops/geometry.h"
#include "kernels/kernel.h"
#include "kernels/ref/sum.h"

// Convolution as plain sums, for floats (conv2d) and integers (qconv2d).
//
// The image is first laid out such that every tap of the kernel reads contiguous memory: padded with zeros
// and, for a stride s, split into the positions that leave the same remainder modulo s. A row of outputs is
// then sum_products() over the taps in the order (ky, kx, input channel), whatever the strides, paddings and
// dilations.
namespace octet::ref {

// One axis of that layout. Tap k of output i is at index i + shift of the part `part` of taps[k].
struct GridAxis {
  struct Tap {
    std::int64_t part, shift;
  };

  explicit GridAxis(const ops::WindowAxis& axis);

  ops::WindowAxis window;
  std::vector<std::int64_t> remainders;  // one a part; only those that a tap uses
  std::vector<Tap> taps;
  std::int64_t cells = 0;  // in each part
};

struct Grid {
  explicit Grid(const ops::Window& window) : y(window.y), x(window.x) {}

  std::int64_t parts() const { return static_cast<std::int64_t>(y.remainders.size() * x.remainders.size()); }
  std::int64_t plane() const { return parts() * y.cells * x.cells; }
  // Where output (0, 0) finds each tap of `channels` planes.
  std::vector<std::int64_t> offsets(std::int64_t channels) const;
  // One channel into its plane, which is zero before.
  template <class In, class T>
  void spread(const In* image, T* plane) const;

  GridAxis y, x;
};

template <class In, class T>
void Grid::spread(const In* image, T* plane) const {
  const ops::WindowAxis &wy = y.window, &wx = x.window;
  for (std::int64_t ry : y.remainders) {
    for (std::int64_t rx : x.remainders) {
      for (std::int64_t cy = 0; cy < y.cells; ++cy, plane += x.cells) {
        std::int64_t iy = cy * wy.stride + ry - wy.before;
        if (iy < 0 || iy >= wy.in) continue;
        const In* row = image + iy * wx.in;
        std::int64_t first = rx - wx.before;  // cell cx holds the column first + cx*stride
        std::int64_t begin = first < 0 ? (-first + wx.stride - 1) / wx.stride : 0;
        std::int64_t end = first < wx.in ? std::min(x.cells, (wx.in - 1 - first) / wx.stride + 1) : 0;
        for (std::int64_t cx = begin; cx < end; ++cx) plane[cx] = static_cast<T>(row[first + cx * wx.stride]);
      }
    }
  }
}

// Calls finish(output channel, index of the first output in y, sums, count) for pieces of output rows; the
// sums may be changed. x and weight are the node's first two inputs.
template <class In, class T, class Finish>
void convolve(const KernelArgs& args, Finish finish) {
  const Tensor &x = *args.inputs[0], &weight = *args.inputs[1];
  const Shape& out = args.outputs[0].shape();
  std::int64_t channels = x.dim(1), out_channels = out[1], group_channels = weight.dim(1);
  std::int64_t per_group = out_channels / (channels / group_channels);
  std::int64_t terms = group_channels * weight.dim(2) * weight.dim(3);
  Grid grid(ops::conv_window(args.node, x.dim(2), x.dim(3), weight.dim(2), weight.dim(3)));
  std::vector<std::int64_t> offsets = grid.offsets(group_channels);

  // The sums over a few rows fit into the L1 cache; a task is large enough to be worth handing to a thread.
  // Cells beyond a row's end are computed and dropped.
  std::int64_t width = grid.x.cells, rows = out[2];
  std::int64_t piece_rows = std::clamp<std::int64_t>(512 / width, 1, rows);
  std::int64_t task_cells = std::clamp<std::int64_t>(65536 / terms, 512, 8192);
  std::int64_t task_rows = std::clamp<std::int64_t>(task_cells / width, 1, rows);
  std::int64_t tasks = (rows + task_rows - 1) / task_rows;
  constexpr std::int64_t kLanes = 16;  // counts are rounded up to whole vectors
  std::int64_t piece_cells = (piece_rows * width + kLanes - 1) / kLanes * kLanes;

  for (std::int64_t n = 0; n < out[0]; ++n) {
    const In* image = x.data<In>().data() + n * channels * x.dim(2) * x.dim(3);
    std::vector<T> cells(static_cast<std::size_t>(channels * grid.plane() + width + kLanes));
    args.pool.parallel_for(channels, [&](std::int64_t c) {
      grid.spread(image + c * x.dim(2) * x.dim(3), cells.data() + c * grid.plane());
    });
    args.pool.parallel_for(tasks * out_channels, [&](std::int64_t task) {
      std::int64_t channel = task % out_channels, first = task / out_channels * task_rows;
      const T* source = cells.data() + channel / per_group * group_channels * grid.plane();
      const In* taps = weight.data<In>().data() + channel * terms;
      std::vector<T> weights;  // in the order of the sum
      for (std::int64_t tap = 0; tap < terms / group_channels; ++tap)
        for (std::int64_t c = 0; c < group_channels; ++c)
          weights.push_back(static_cast<T>(taps[c * (terms / group_channels) + tap]));
      std::vector<T> sums(static_cast<std::size_t>(piece_cells));
      for (std::int64_t row = first; row < std::min(first + task_rows, rows); row += piece_rows) {
        std::int64_t count = std::min(piece_rows, std::min(first + task_rows, rows) - row);
        sum_products(source + row * width, offsets.data(), weights.data(), terms, sums.data(),
                     std::min(piece_cells, (count * width + kLanes - 1) / kLanes * kLanes));
        for (std::int64_t i = 0; i < count; ++i)
          finish(channel, ((n * out_channels + channel) * rows + row + i) * out[3], sums.data() + i * width,
                 out[3]);
      }
    });
  }
}

}  // namespace octet::ref
