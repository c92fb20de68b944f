#include <algorithm>
#include <cmath>

#include "graph/ops/geometry.h"
#include "kernels/ref/interpolate.h"
#include "kernels/ref/ref.h"

namespace octet::ref {
namespace {

// Coordinates are computed in the mix of float and double that Paddle computes them in.
struct AxisMap {
  std::int64_t in, out;
  float ratio;
  bool align_corners, centered;  // centered: align_mode 0

  ResizePoint nearest(std::int64_t i) const {
    float position = ratio * static_cast<float>(i);
    double rounded = align_corners ? static_cast<double>(position) + 0.5 : position;
    return {clamp(static_cast<std::int64_t>(rounded)), 0, 1, 0};
  }

  ResizePoint bilinear(std::int64_t i) const {
    float position = ratio * static_cast<float>(i);
    if (centered && !align_corners)
      position = std::max(static_cast<float>(ratio * (static_cast<double>(i) + 0.5) - 0.5), 0.0f);
    auto first = static_cast<std::int64_t>(position);
    if (first >= in) return {in - 1, in - 1, 1, 0};  // a factor and a size that are at odds
    float weight = position - static_cast<float>(first);
    return {first, clamp(first + 1), 1.0f - weight, weight};
  }

  std::int64_t clamp(std::int64_t index) const { return std::min(index, in - 1); }
};

}  // namespace

float resize_position(std::string_view coordinates, const ResizeAxis& axis, std::int64_t i) {
  auto x = static_cast<float>(i), last = static_cast<float>(axis.in - 1);
  if (coordinates == "align_corners") return axis.width == 1 ? 0 : x * last / (axis.width - 1);
  if (coordinates == "asymmetric") return x / axis.scale;
  if (coordinates == "tf_half_pixel_for_nn") return (x + 0.5f) / axis.scale;
  if (coordinates == "pytorch_half_pixel" && axis.width == 1) return -0.5f;
  if (coordinates == "crop") {
    float range = (axis.crop_end - axis.crop_begin) * last;
    return axis.crop_begin * last + (axis.width == 1 ? range / 2 : x * range / (axis.width - 1));
  }
  float offset = 0;
  if (coordinates == "half_pixel_symmetric")
    offset = static_cast<float>(axis.in) / 2 * (1 - static_cast<float>(axis.out) / axis.width);
  return offset + (x + 0.5f) / axis.scale - 0.5f;
}

std::int64_t nearest_index(std::string_view nearest, float position) {
  float below = std::floor(position);
  if (nearest == "floor") return static_cast<std::int64_t>(below);
  if (nearest == "ceil") return static_cast<std::int64_t>(std::ceil(position));
  float rest = position - below;
  bool up = nearest == "round_prefer_ceil" ? rest >= 0.5f : rest > 0.5f;
  return static_cast<std::int64_t>(below) + (up ? 1 : 0);
}

namespace {

// The plan of an axis by ONNX's rules; what lies outside is the nearest inside.
std::vector<ResizePoint> onnx_points(const Node& node, const ResizeAxis& axis, bool linear) {
  std::string coordinates = attr<std::string>(node, "coordinates"),
              nearest = attr<std::string>(node, "nearest");
  auto inside = [&](std::int64_t index) { return std::clamp<std::int64_t>(index, 0, axis.in - 1); };
  std::vector<ResizePoint> points;
  for (std::int64_t i = 0; i < axis.out; ++i) {
    float position = resize_position(coordinates, axis, i);
    if (!linear) {
      points.push_back({inside(nearest_index(nearest, position)), 0, 1, 0});
      continue;
    }
    float below = std::floor(position), weight = position - below;
    auto first = static_cast<std::int64_t>(below);
    points.push_back({inside(first), inside(first + 1), 1.0f - weight, weight});
  }
  return points;
}

ResizePlan onnx_plan(const Node& node, const Shape& x, const Shape& out,
                     const std::optional<std::array<float, 2>>& factors) {
  ResizePlan plan;
  plan.bilinear = attr<std::string>(node, "mode") == "bilinear";
  for (std::size_t i : {0, 1}) {
    auto in = static_cast<float>(x[2 + i]), size = static_cast<float>(out[2 + i]);
    ResizeAxis axis{x[2 + i], out[2 + i], factors ? (*factors)[i] : size / in, size};
    if (factors) axis.width = axis.scale * in;
    (i == 0 ? plan.rows : plan.columns) = onnx_points(node, axis, plan.bilinear);
  }
  return plan;
}

}  // namespace

ResizePlan plan_resize(const KernelArgs& args) {
  return plan_resize(args.node, args.inputs[0]->shape(), args.outputs[0].shape(), args.input("scale"),
                     args.inputs.size() > 3);
}

ResizePlan plan_resize_arg_max(const KernelArgs& args) {
  const Shape &x = args.inputs[0]->shape(), &y = args.outputs[0].shape();
  return plan_resize(args.node, x, {x[0], x[1], y[y.size() - 2], y[y.size() - 1]}, args.input("scale"),
                     args.inputs.size() > 3);
}

ResizePlan plan_resize(const Node& node, const Shape& x, const Shape& out, const Tensor* scale,
                       bool has_sizes) {
  bool align_corners = attr<bool>(node, "align_corners");
  std::optional<std::array<float, 2>> factors;
  if (!has_sizes) factors = ops::resize_factors(node, scale);
  if (attr<std::string>(node, "coordinates") != "paddle") return onnx_plan(node, x, out, factors);
  // Equal sizes are a copy in Paddle, even where a factor says otherwise.
  bool copy = x[2] == out[2] && x[3] == out[3];

  ResizePlan plan;
  plan.bilinear = attr<std::string>(node, "mode") == "bilinear" && !copy;
  for (std::size_t axis : {0, 1}) {
    AxisMap map{x[2 + axis], out[2 + axis], 0, align_corners, attr<std::int64_t>(node, "align_mode") == 0};
    auto in = static_cast<float>(map.in), size = static_cast<float>(map.out);
    if (map.out > 1) {
      if (align_corners)
        map.ratio = static_cast<float>(map.in - 1) / static_cast<float>(map.out - 1);
      else if (factors)
        map.ratio = static_cast<float>(1.0 / (*factors)[axis]);
      else
        map.ratio = in / size;
    }
    std::vector<ResizePoint>& points = axis == 0 ? plan.rows : plan.columns;
    for (std::int64_t i = 0; i < map.out; ++i)
      points.push_back(copy ? ResizePoint{i, 0, 1, 0} : plan.bilinear ? map.bilinear(i) : map.nearest(i));
  }
  return plan;
}

namespace {

// round(interpolated) for bilinear, a copy for nearest.
template <class T, class Round>
void resize_planes(const KernelArgs& args, const Round& round) {
  const Tensor& x = *args.inputs[0];
  const Shape& out = args.outputs[0].shape();
  ResizePlan plan = plan_resize(args);
  args.pool.parallel_for(out[0] * out[1], [&](std::int64_t i) {
    const T* plane = x.data<T>().data() + i * x.dim(2) * x.dim(3);
    T* y = args.outputs[0].mutable_data<T>().data() + i * out[2] * out[3];
    for (const ResizePoint& row : plan.rows)
      for (const ResizePoint& column : plan.columns)
        *y++ = plan.bilinear ? round(interpolate(plane, x.dim(3), row, column))
                             : plane[row.first * x.dim(3) + column.first];
  });
}

template <class Index>
void arg_max_of_planes(const KernelArgs& args) {
  const Tensor& x = *args.inputs[0];
  const ResizePlan plan = plan_resize_arg_max(args);
  const std::int64_t channels = x.dim(1), size = x.dim(2) * x.dim(3);
  const auto height = static_cast<std::int64_t>(plan.rows.size());
  Index* y = args.outputs[0].mutable_data<Index>().data();
  args.pool.parallel_for(x.dim(0) * height, [&](std::int64_t i) {
    const float* image = x.data<float>().data() + i / height * channels * size;
    const ResizePoint& row = plan.rows[static_cast<std::size_t>(i % height)];
    Index* to = y + i * static_cast<std::int64_t>(plan.columns.size());
    for (const ResizePoint& column : plan.columns) {
      auto value = [&](std::int64_t channel) {
        const float* plane = image + channel * size;
        return plan.bilinear ? interpolate(plane, x.dim(3), row, column)
                             : plane[row.first * x.dim(3) + column.first];
      };
      Index best = 0;
      float most = value(0);
      for (std::int64_t channel = 1; channel < channels; ++channel)
        if (const float other = value(channel); other > most) {
          best = static_cast<Index>(channel);
          most = other;
        }
      *to++ = best;
    }
  });
}

}  // namespace

void resize(const KernelArgs& args) {
  resize_planes<float>(args, [](float value) { return value; });
}

void resize_arg_max(const KernelArgs& args) {
  args.outputs[0].dtype() == DType::kInt32 ? arg_max_of_planes<std::int32_t>(args)
                                           : arg_max_of_planes<std::int64_t>(args);
}

void qresize(const KernelArgs& args) {
  resize_planes<std::int8_t>(args,
                             [](float value) { return static_cast<std::int8_t>(std::nearbyint(value)); });
}

}  // namespace octet::ref
