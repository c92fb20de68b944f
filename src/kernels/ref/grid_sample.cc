#include <algorithm>
#include <cmath>

#include "kernels/ref/ref.h"
#include "kernels/ref/strides.h"

namespace octet::ref {

namespace {

enum class Padding { kZeros, kBorder, kReflection };

// One spatial dimension: what lies between low and high is inside.
struct Side {
  std::int64_t size;
  double low, high;

  double reflected(double x) const {
    double range = high - low;
    if (range <= 0) return 0;
    double distance = x < low ? low - x : x > high ? x - high : 0;
    if (distance == 0) return x;
    double turns = std::floor(distance / range), rest = distance - turns * range;
    bool from_low = (x < low) == (std::fmod(turns, 2.0) == 0);
    return from_low ? low + rest : high - rest;
  }

  // The element that stands for position i; -1: 0.
  std::int64_t index(std::int64_t i, Padding padding) const {
    if (i >= 0 && i < size) return i;
    if (padding == Padding::kZeros) return -1;
    if (padding == Padding::kReflection) i = static_cast<std::int64_t>(reflected(static_cast<double>(i)));
    return std::clamp<std::int64_t>(i, 0, size - 1);
  }
};

// Neighbours along one dimension, with their weights.
struct Line {
  int count = 0;
  std::int64_t index[4] = {};
  double weight[4] = {};
};

Line neighbours(const Side& side, double position, const std::string& mode, Padding padding) {
  Line line;
  double base = std::floor(position), t = position - base;
  auto first = static_cast<std::int64_t>(base);
  auto add = [&](std::int64_t i, double weight) {
    line.index[line.count] = side.index(i, padding);
    line.weight[line.count++] = weight;
  };
  if (mode == "nearest") {
    add(static_cast<std::int64_t>(position), 1);
  } else if (mode == "linear") {
    add(first, 1 - t);
    add(first + 1, t);
  } else {
    constexpr double a = -0.75;
    auto near = [&](double x) { return ((a + 2) * x - (a + 3)) * x * x + 1; };
    auto far = [&](double x) { return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a; };
    add(first - 1, far(t + 1));
    add(first, near(t));
    add(first + 1, near(1 - t));
    add(first + 2, far(2 - t));
  }
  return line;
}

}  // namespace

// Sums in double, rounded once. Grids run in the order x, y(, z); fewer than 3 dimensions are seen as 3.
void grid_sample(const KernelArgs& args) {
  const Tensor &x = *args.inputs[0], &grid = *args.input("grid");
  std::size_t rank = x.shape().size() - 2;
  std::string mode = attr<std::string>(args.node, "mode"), pad = attr<std::string>(args.node, "padding");
  Padding padding = pad == "zeros"    ? Padding::kZeros
                    : pad == "border" ? Padding::kBorder
                                      : Padding::kReflection;
  bool align = attr<bool>(args.node, "align_corners");
  std::vector<Side> sides;
  for (std::size_t i = 0; i < rank; ++i) {
    auto size = static_cast<double>(x.shape()[2 + i]);
    sides.push_back({x.shape()[2 + i], align ? 0 : -0.5, align ? size - 1 : size - 0.5});
  }
  std::int64_t points = count_of(grid.shape(), 1, grid.shape().size() - 1), channels = x.dim(1),
               area = count_of(x.shape(), 2, x.shape().size());
  args.pool.parallel_for(x.dim(0) * points, [&](std::int64_t point) {
    const float* place = grid.data<float>().data() + point * static_cast<std::int64_t>(rank);
    Line lines[3];
    lines[0].count = 1;
    lines[0].weight[0] = 1;
    for (std::size_t i = 0; i < rank; ++i) {
      const Side& side = sides[i];
      auto size = static_cast<double>(side.size), n = static_cast<double>(place[rank - 1 - i]);
      double position = align ? (n + 1) / 2 * (size - 1) : ((n + 1) * size - 1) / 2;
      position = static_cast<float>(position);
      if (mode == "nearest") position = std::nearbyint(position);
      constexpr double kFar = 1e9;  // far outside of any picture; NaN, too
      if (!(std::fabs(position) < kFar)) position = position > 0 ? kFar : -kFar;
      if (position < side.low || position > side.high) {
        if (padding == Padding::kBorder) position = std::clamp(position, 0.0, size - 1);
        if (padding == Padding::kReflection) position = side.reflected(position);
      }
      lines[3 - rank + i] = neighbours(side, position, mode, padding);
    }
    std::int64_t depth = rank == 3 ? sides[0].size : 1, height = sides[rank - 2].size,
                 width = sides[rank - 1].size;
    check(depth * height * width == area, "the sides are those of x");
    for (std::int64_t c = 0; c < channels; ++c) {
      std::int64_t image = point / points * channels + c;
      const float* plane = x.data<float>().data() + image * area;
      double sum = 0;
      for (int k = 0; k < lines[0].count; ++k)
        for (int j = 0; j < lines[1].count; ++j)
          for (int i = 0; i < lines[2].count; ++i) {
            std::int64_t at[3] = {lines[0].index[k], lines[1].index[j], lines[2].index[i]};
            if (at[0] < 0 || at[1] < 0 || at[2] < 0) continue;
            sum += lines[0].weight[k] * lines[1].weight[j] * lines[2].weight[i] *
                   static_cast<double>(plane[(at[0] * height + at[1]) * width + at[2]]);
          }
      args.outputs[0].mutable_data<float>().data()[image * points + point % points] = static_cast<float>(sum);
    }
  });
}

}  // namespace octet::ref
