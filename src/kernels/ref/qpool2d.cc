#include <algorithm>
#include <cmath>

#include "kernels/ref/pool.h"
#include "kernels/ref/ref.h"

namespace octet::ref {
namespace {

std::int8_t max_of(const std::int8_t* plane, std::int64_t width, const PoolSpan& y, const PoolSpan& x) {
  std::int8_t result = -128;
  for (std::int64_t iy = y.begin; iy < y.end; ++iy)
    for (std::int64_t ix = x.begin; ix < x.end; ++ix) result = std::max(result, plane[iy * width + ix]);
  return result;
}

// int64, because a window may hold more integers than an int32 sum does.
std::int64_t sum_of(const std::int8_t* plane, std::int64_t width, const PoolSpan& y, const PoolSpan& x) {
  std::int64_t sum = 0;
  for (std::int64_t iy = y.begin; iy < y.end; ++iy)
    for (std::int64_t ix = x.begin; ix < x.end; ++ix) sum += plane[iy * width + ix];
  return sum;
}

}  // namespace

void qpool2d(const KernelArgs& args) {
  const Tensor& x = *args.inputs[0];
  const Shape& out = args.outputs[0].shape();
  ops::Window window = ops::pool_window(args.node, x.dim(2), x.dim(3));
  std::vector<PoolSpan> rows = pool_spans(args.node, window.y), columns = pool_spans(args.node, window.x);
  bool max = attr<std::string>(args.node, "type") == "max", exclusive = attr<bool>(args.node, "exclusive");
  args.pool.parallel_for(out[0] * out[1], [&](std::int64_t i) {
    const std::int8_t* plane = x.data<std::int8_t>().data() + i * x.dim(2) * x.dim(3);
    std::int8_t* y = args.outputs[0].mutable_data<std::int8_t>().data() + i * out[2] * out[3];
    for (const PoolSpan& row : rows)
      for (const PoolSpan& column : columns) {
        if (max) {
          *y++ = max_of(plane, x.dim(3), row, column);
        } else if (row.empty() || column.empty()) {
          *y++ = 0;
        } else {
          auto sum = static_cast<float>(sum_of(plane, x.dim(3), row, column));
          auto count = static_cast<float>(pool_count(row, column, exclusive));
          *y++ = static_cast<std::int8_t>(std::nearbyint(sum / count));
        }
      }
  });
}

}  // namespace octet::ref
