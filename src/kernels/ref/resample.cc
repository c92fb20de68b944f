#include "graph/ops/resample.h"

#include <algorithm>
#include <cmath>

#include "kernels/blocks.h"
#include "kernels/ref/infos.h"
#include "kernels/ref/interpolate.h"
#include "kernels/ref/ref.h"
#include "kernels/ref/strides.h"

namespace octet::ref {

namespace {

// What one output along an axis is made of.
struct Taps {
  std::vector<std::int64_t> indices;
  std::vector<double> weights;
  bool outside = false;  // of the crop: the result is a constant
};

struct Filter {
  std::string mode, coordinates, nearest;
  double coefficient;
  bool exclude_outside, antialias;

  // The kernel at a distance.
  double operator()(double x) const {
    x = std::fabs(x);
    double a = coefficient;
    if (mode == "linear") return std::max(0.0, 1 - x);
    if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
    return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
  }

  Taps taps(const ops::ResampleAxis& axis, std::int64_t i) const {
    ResizeAxis line{axis.in,
                    axis.out,
                    static_cast<float>(axis.scale),
                    static_cast<float>(axis.width),
                    static_cast<float>(axis.crop_begin),
                    static_cast<float>(axis.crop_end)};
    float position = resize_position(coordinates, line, i);
    Taps result;
    result.outside = coordinates == "crop" && (position < 0 || position > static_cast<float>(axis.in - 1));
    auto inside = [&](std::int64_t index) { return std::clamp<std::int64_t>(index, 0, axis.in - 1); };
    if (mode == "nearest") return {{inside(nearest_index(nearest, position))}, {1}, result.outside};

    // Left of an integer position, so that what lies behind it is above 0 and at most 1.
    auto base = static_cast<std::int64_t>(std::ceil(position)) - 1;
    double behind = static_cast<double>(position) - static_cast<double>(base);
    double shrink = antialias ? std::min(axis.scale, 1.0) : 1.0, reach = mode == "linear" ? 1 : 2;
    auto first = static_cast<std::int64_t>(std::floor(-reach / shrink)) + 1;
    double sum = 0;
    for (std::int64_t k = first; k <= 1 - first; ++k) {
      std::int64_t index = base + k;
      double weight = (*this)(shrink * (static_cast<double>(k) - behind));
      if (exclude_outside && index != inside(index)) weight = 0;
      result.indices.push_back(inside(index));
      result.weights.push_back(weight);
      sum += weight;
    }
    if ((exclude_outside || antialias) && sum != 0)
      for (double& weight : result.weights) weight /= sum;
    return result;
  }
};

// `x` with one axis resampled.
Tensor along_axis(const Tensor& x, const ops::ResampleAxis& axis, const Filter& filter, float extrapolation,
                  ThreadPool& pool) {
  Shape shape = x.shape();
  shape[axis.axis] = axis.out;
  Tensor y(DType::kFloat32, shape);
  AxisView from = along(x.shape(), static_cast<std::int64_t>(axis.axis));
  std::vector<Taps> lines;
  for (std::int64_t i = 0; i < axis.out; ++i) lines.push_back(filter.taps(axis, i));
  const float* in = x.data<float>().data();
  float* out = y.mutable_data<float>().data();
  pool.parallel_for(from.outer * axis.out, [&](std::int64_t row) {
    const Taps& taps = lines[static_cast<std::size_t>(row % axis.out)];
    const float* block = in + row / axis.out * from.size * from.inner;
    for (std::int64_t i = 0; i < from.inner; ++i) {
      double sum = 0;
      for (std::size_t k = 0; k < taps.indices.size(); ++k)
        sum += taps.weights[k] * static_cast<double>(block[taps.indices[k] * from.inner + i]);
      out[row * from.inner + i] = taps.outside ? extrapolation : static_cast<float>(sum);
    }
  });
  return y;
}

}  // namespace

// One axis after the other; each result is a sum in double, rounded once.
void resample(const KernelArgs& args) {
  Filter filter{attr<std::string>(args.node, "mode"),     attr<std::string>(args.node, "coordinates"),
                attr<std::string>(args.node, "nearest"),  attr<double>(args.node, "cubic_coeff"),
                attr<bool>(args.node, "exclude_outside"), attr<bool>(args.node, "antialias")};
  InputInfos infos(args);
  Tensor x = *args.inputs[0];
  for (const ops::ResampleAxis& axis : ops::resample_axes(args.node, infos.get())) {
    bool same = axis.in == axis.out && axis.scale == 1 && filter.coordinates != "crop";
    if (!same) x = along_axis(x, axis, filter, attr<float>(args.node, "extrapolation"), args.pool);
  }
  auto from = x.data<float>();
  std::copy(from.begin(), from.end(), args.outputs[0].mutable_data<float>().begin());
}

}  // namespace octet::ref
