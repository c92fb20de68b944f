#pragma once
#include "kernels/kernel.h"

namespace octet::ref {

// Where one output of a resize lies between its neighbours `first` and `second` along an axis. nearest uses
// only `first`.
struct ResizePoint {
  std::int64_t first, second;
  float first_weight, second_weight;
};

// Where output i of an axis lies on the input (in ONNX's words, docs/ops.md): `scale` is the factor by which
// the axis grows, `width` what it makes of `in`, before that was cut to an integer `out`.
struct ResizeAxis {
  std::int64_t in, out;
  float scale, width;
  float crop_begin = 0, crop_end = 1;
};
float resize_position(std::string_view coordinates, const ResizeAxis& axis, std::int64_t i);
// The nearest input, which may lie outside of it.
std::int64_t nearest_index(std::string_view nearest, float position);

struct ResizePlan {
  bool bilinear = false;
  std::vector<ResizePoint> rows, columns;
};
ResizePlan plan_resize(const KernelArgs& args);
ResizePlan plan_resize_arg_max(const KernelArgs& args);  // the outputs of that op have no channels
// The same for an image of shape `x` that becomes one of shape `out`. `scale` is that input of the op, or
// null; has_sizes: the inputs `size` decide.
ResizePlan plan_resize(const Node& node, const Shape& x, const Shape& out, const Tensor* scale,
                       bool has_sizes);

// The corners in Paddle's order: each weighted by its row, then by its column; above left, below left, above
// right, below right.
template <class T>
float interpolate(const T* plane, std::int64_t width, const ResizePoint& y, const ResizePoint& x) {
  const T *above = plane + y.first * width, *below = plane + y.second * width;
  return static_cast<float>(above[x.first]) * y.first_weight * x.first_weight +
         static_cast<float>(below[x.first]) * y.second_weight * x.first_weight +
         static_cast<float>(above[x.second]) * y.first_weight * x.second_weight +
         static_cast<float>(below[x.second]) * y.second_weight * x.second_weight;
}

}  // namespace octet::ref
