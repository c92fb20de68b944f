#include <algorithm>
#include <limits>

#include "kernels/ref/pool.h"
#include "kernels/ref/ref.h"

namespace octet::ref {

std::vector<PoolSpan> pool_spans(const Node& node, const ops::WindowAxis& axis) {
  std::vector<PoolSpan> spans;
  bool adaptive = attr<bool>(node, "adaptive") && !attr<bool>(node, "global");
  for (std::int64_t i = 0; i < axis.out; ++i) {
    if (adaptive) {
      std::int64_t begin = i * axis.in / axis.out, end = ((i + 1) * axis.in + axis.out - 1) / axis.out;
      spans.push_back({begin, end, end - begin});
      continue;
    }
    std::int64_t begin = i * axis.stride - axis.before, end = begin + axis.kernel;
    // Paddle cuts the length at in + before, also where the padding behind the image is another.
    std::int64_t length = std::min(end, axis.in + axis.before) - begin;
    spans.push_back(
        {std::max<std::int64_t>(begin, 0), std::min(end, axis.in), std::max<std::int64_t>(length, 1)});
  }
  return spans;
}

namespace {

float max_of(const float* plane, std::int64_t width, const PoolSpan& y, const PoolSpan& x) {
  float result = std::numeric_limits<float>::lowest();
  for (std::int64_t iy = y.begin; iy < y.end; ++iy)
    for (std::int64_t ix = x.begin; ix < x.end; ++ix) {
      float value = plane[iy * width + ix];
      result = result > value ? result : value;
    }
  return result;
}

float sum_of(const float* plane, std::int64_t width, const PoolSpan& y, const PoolSpan& x) {
  float sum = 0;
  for (std::int64_t iy = y.begin; iy < y.end; ++iy)
    for (std::int64_t ix = x.begin; ix < x.end; ++ix) sum += plane[iy * width + ix];
  return sum;
}

}  // namespace

void pool2d(const KernelArgs& args) {
  const Tensor& x = *args.inputs[0];
  const Shape& out = args.outputs[0].shape();
  ops::Window window = ops::pool_window(args.node, x.dim(2), x.dim(3));
  std::vector<PoolSpan> rows = pool_spans(args.node, window.y), columns = pool_spans(args.node, window.x);
  bool max = attr<std::string>(args.node, "type") == "max", exclusive = attr<bool>(args.node, "exclusive");
  args.pool.parallel_for(out[0] * out[1], [&](std::int64_t i) {
    const float* plane = x.data<float>().data() + i * x.dim(2) * x.dim(3);
    float* y = args.outputs[0].mutable_data<float>().data() + i * out[2] * out[3];
    for (const PoolSpan& row : rows)
      for (const PoolSpan& column : columns) {
        if (max)
          *y++ = max_of(plane, x.dim(3), row, column);
        else if (row.empty() || column.empty())
          *y++ = 0;
        else
          *y++ =
              sum_of(plane, x.dim(3), row, column) / static_cast<float>(pool_count(row, column, exclusive));
      }
  });
}

}  // namespace octet::ref
