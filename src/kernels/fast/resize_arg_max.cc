#include <algorithm>

#include "kernels/fast/layout.h"
#include "kernels/ref/interpolate.h"

// A bilinear resize of an image in channels-last, and of each pixel the channel with the largest value.
namespace octet::fast {
namespace {

// The columns of a row of outputs as vectors of `lanes` want them, the last one as often as it takes.
struct Columns {
  Columns(const std::vector<ref::ResizePoint>& points, std::int64_t lanes) {
    for (std::size_t i = 0; i < points.size(); i += static_cast<std::size_t>(lanes)) {
      const std::size_t end = std::min(points.size(), i + static_cast<std::size_t>(lanes));
      std::int64_t least = points[i].first, most = least;
      for (std::size_t k = i; k < end; ++k) {
        least = std::min({least, points[k].first, points[k].second});
        most = std::max({most, points[k].first, points[k].second});
      }
      fit = fit && most - least < lanes;
      begins.push_back(least);
      for (std::size_t k = i; k < i + static_cast<std::size_t>(lanes); ++k) {
        const ref::ResizePoint& point = points[std::min(k, end - 1)];
        first.push_back(static_cast<std::int32_t>(point.first - least));
        second.push_back(static_cast<std::int32_t>(point.second - least));
        first_weight.push_back(point.first_weight);
        second_weight.push_back(point.second_weight);
      }
    }
  }

  bool fit = true;  // what a vector of outputs is made of fits into a vector
  std::vector<std::int64_t> begins;
  std::vector<std::int32_t> first, second;
  std::vector<float> first_weight, second_weight;
};

// The rows of an image, channel by channel, each made when it is first asked for and kept until two others
// were. Outputs below each other are made of the same two.
class PlanarRows {
 public:
  PlanarRows(const float* image, std::int64_t width, std::int64_t channels, std::int64_t step)
      : image_(image), width_(width), channels_(channels), step_(step) {
    for (Row& row : rows_) row.values.resize(static_cast<std::size_t>(channels * step));
  }

  // Both stay what they are until the next call.
  std::pair<const float*, const float*> of(std::int64_t above, std::int64_t below) {
    Row* first = find(above);
    if (!first) first = &make(find(below) == &rows_[0] ? rows_[1] : rows_[0], above);
    Row* second = find(below);
    if (!second) second = &make(first == &rows_[0] ? rows_[1] : rows_[0], below);
    return {first->values.data(), second->values.data()};
  }

 private:
  struct Row {
    std::int64_t y = -1;
    std::vector<float> values;
  };

  Row* find(std::int64_t y) {
    for (Row& row : rows_)
      if (row.y == y) return &row;
    return nullptr;
  }
  Row& make(Row& row, std::int64_t y) const {
    row.y = y;
    const float* from = image_ + y * width_ * channels_;
    for (std::int64_t x = 0; x < width_; ++x)
      for (std::int64_t c = 0; c < channels_; ++c)
        row.values[static_cast<std::size_t>(c * step_ + x)] = *from++;
    return row;
  }

  const float* image_;
  std::int64_t width_, channels_, step_;
  Row rows_[2];
};

void run(const KernelArgs& args) {
  const Tensor& x = *args.inputs[0];
  const std::int64_t channels = x.dim(1), height = x.dim(2), width = x.dim(3);
  const ref::ResizePlan plan = ref::plan_resize_arg_max(args);
  const std::int64_t lanes = args.simd->f32.lanes;
  const Columns columns(plan.columns, lanes);
  const auto out_h = static_cast<std::int64_t>(plan.rows.size()),
             out_w = static_cast<std::int64_t>(plan.columns.size()),
             padded = static_cast<std::int64_t>(columns.first.size());
  const std::int64_t step = (width + 2 * lanes - 1) / lanes * lanes;
  std::vector<simd::ResizePoint> points;
  for (const ref::ResizePoint& p : plan.columns)
    points.push_back({p.first, p.second, p.first_weight, p.second_weight});

  const float* in = x.data<float>().data();
  Tensor& y = args.outputs[0];
  auto put = [&](const std::int32_t* numbers, std::int64_t row) {
    if (y.dtype() == DType::kInt32)
      std::copy_n(numbers, out_w, y.mutable_data<std::int32_t>().data() + row * out_w);
    else
      std::copy_n(numbers, out_w, y.mutable_data<std::int64_t>().data() + row * out_w);
  };

  // Some rows are a task; more of them share more of what they are made of.
  constexpr std::int64_t kRows = 32;
  const std::int64_t strips = (out_h + kRows - 1) / kRows;
  args.pool.parallel_for(x.dim(0) * strips, [&](std::int64_t task) {
    const float* image = in + task / strips * height * width * channels;
    const std::int64_t begin = task % strips * kRows, end = std::min(begin + kRows, out_h);
    std::vector<std::int32_t> numbers(static_cast<std::size_t>(padded));
    const bool by_pixels = plan.bilinear && columns.fit;
    PlanarRows planes(image, width, by_pixels ? channels : 0, step);
    std::vector<float> scratch(static_cast<std::size_t>(by_pixels ? 2 * channels * step : channels * out_w));
    for (std::int64_t row = begin; row < end; ++row) {
      const ref::ResizePoint& p = plan.rows[static_cast<std::size_t>(row)];
      if (by_pixels) {
        const auto [above, below] = planes.of(p.first, p.second);
        args.simd->image.resize_arg_max_row({.above = above,
                                             .below = below,
                                             .step = step,
                                             .above_weight = p.first_weight,
                                             .below_weight = p.second_weight,
                                             .begins = columns.begins.data(),
                                             .first = columns.first.data(),
                                             .second = columns.second.data(),
                                             .first_weight = columns.first_weight.data(),
                                             .second_weight = columns.second_weight.data(),
                                             .count = padded,
                                             .channels = channels,
                                             .scratch = scratch.data(),
                                             .out = numbers.data()});
      } else {
        const float *above = image + p.first * width * channels, *pixels = above;
        if (plan.bilinear) {
          args.simd->image.resize_row({above, image + p.second * width * channels, p.first_weight,
                                       p.second_weight, points.data(), out_w, channels, scratch.data()});
          pixels = scratch.data();
        }
        args.simd->reduction.arg_max(pixels, channels, 1, channels, numbers.data(), out_w);
      }
      put(numbers.data(), task / strips * out_h + row);
    }
  });
}

// What is not interpolated has no columns of weights.
bool fits(const PrepareArgs& args) {
  return attr<std::string>(args.node, "mode") == "bilinear";
}

}  // namespace

std::vector<Implementation> resize_arg_max() {
  return {{.op = "resize_arg_max",
           .name = "vector",
           .layout = LayoutNeed::kChannelsLast,
           .run = run,
           .fits = fits}};
}

}  // namespace octet::fast
