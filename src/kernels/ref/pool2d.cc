#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/ref/pool.h"
#include "kernels/ref/ref.h"

namespace octet::ref {

std::vector<PoolSpan> pool_spans(const Node& node, const ops::WindowAxis& axis) {
  std::vector<PoolSpan> spans;
  bool onnx = attr<std::string>(node, "convention") == "onnx";
  bool adaptive = attr<bool>(node, "adaptive") && !attr<bool>(node, "global");
  for (std::int64_t i = 0; i < axis.out; ++i) {
    if (adaptive) {
      std::int64_t begin = i * axis.in / axis.out, end = ((i + 1) * axis.in + axis.out - 1) / axis.out;
      spans.push_back({begin, end, end - begin});
      continue;
    }
    std::int64_t begin = i * axis.stride - axis.before, end = begin + axis.kernel;
    // Paddle cuts the length at in + before, also where the padding behind the image is another.
    std::int64_t length = std::min(end, axis.in + (onnx ? axis.after : axis.before)) - begin;
    spans.push_back(
        {std::max<std::int64_t>(begin, 0), std::min(end, axis.in), std::max<std::int64_t>(length, 1)});
  }
  return spans;
}

namespace {

// `lowest` is the maximum of nothing; Sum is what averages are summed in.
template <class T, class Sum, class Average>
void pool(const KernelArgs& args, T lowest, const Average& average) {
  const Tensor& x = *args.inputs[0];
  const Shape& out = args.outputs[0].shape();
  ops::Window window = ops::pool_window(args.node, x.dim(2), x.dim(3));
  std::vector<PoolSpan> rows = pool_spans(args.node, window.y), columns = pool_spans(args.node, window.x);
  bool max = attr<std::string>(args.node, "type") == "max", exclusive = attr<bool>(args.node, "exclusive");
  args.pool.parallel_for(out[0] * out[1], [&](std::int64_t i) {
    const T* plane = x.data<T>().data() + i * x.dim(2) * x.dim(3);
    T* y = args.outputs[0].mutable_data<T>().data() + i * out[2] * out[3];
    for (const PoolSpan& row : rows)
      for (const PoolSpan& column : columns) {
        T largest = lowest;
        Sum sum = 0;
        for (std::int64_t iy = row.begin; iy < row.end; ++iy)
          for (std::int64_t ix = column.begin; ix < column.end; ++ix) {
            T value = plane[iy * x.dim(3) + ix];
            largest = largest > value ? largest : value;
            sum += value;
          }
        if (max)
          *y++ = largest;
        else if (row.empty() || column.empty())
          *y++ = 0;
        else
          *y++ = average(static_cast<float>(sum), static_cast<float>(pool_count(row, column, exclusive)));
      }
  });
}

}  // namespace

void pool2d(const KernelArgs& args) {
  pool<float, float>(args, std::numeric_limits<float>::lowest(),
                     [](float sum, float count) { return sum / count; });
}

// Sums in int64, because a window may hold more integers than an int32 sum does.
void qpool2d(const KernelArgs& args) {
  pool<std::int8_t, std::int64_t>(args, std::int8_t{-128}, [](float sum, float count) {
    return static_cast<std::int8_t>(std::nearbyint(sum / count));
  });
}

}  // namespace octet::ref
