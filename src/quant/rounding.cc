#include "quant/rounding.h"

#include <algorithm>
#include <cmath>

#include "graph/ops/geometry.h"
#include "kernels/quantizer.h"
#include "kernels/ref/clones.h"

namespace octet::quant {

namespace {

constexpr std::int64_t kPositions = 4096;  // of outputs, that a layer is judged by
constexpr float kRidge = 0.1f;  // how much staying near the float weight counts, against overfitting

// Which elements of the input are under the weights at each position of the output: a row of the columns of
// all groups.
class PatchReader {
 public:
  PatchReader(const Node& node, const Shape& weight) : node_(node), weight_(weight) {}

  bool can_read() const {
    if (node_.op == "conv2d") return true;
    return node_.op == "matmul_flat" || (node_.op == "matmul" && !attr<bool>(node_, "transpose_x"));
  }
  std::int64_t groups() const { return node_.op == "conv2d" ? attr<std::int64_t>(node_, "groups") : 1; }
  std::int64_t columns() const {  // of a group
    if (node_.op == "conv2d") return weight_[1] * weight_[2] * weight_[3];
    return weight_[node_.op == "matmul" && attr<bool>(node_, "transpose_y") ? 1 : 0];
  }
  std::int64_t positions(const Shape& x) const {
    if (node_.op != "conv2d") return element_count(x) / columns();
    ops::Window window = window_of(x);
    return x[0] * window.y.out * window.x.out;
  }

  // Every `step`-th position.
  void read(const Tensor& x, std::int64_t step, std::vector<float>* rows) const {
    const float* data = x.data<float>().data();
    if (node_.op != "conv2d") {
      for (std::int64_t p = 0; p < positions(x.shape()); p += step)
        rows->insert(rows->end(), data + p * columns(), data + (p + 1) * columns());
      return;
    }
    ops::Window w = window_of(x.shape());
    std::int64_t plane = w.y.in * w.x.in, area = w.y.out * w.x.out;
    for (std::int64_t p = 0; p < x.dim(0) * area; p += step) {
      const float* image = data + p / area * x.dim(1) * plane;
      std::int64_t y0 = p % area / w.x.out * w.y.stride - w.y.before,
                   x0 = p % w.x.out * w.x.stride - w.x.before;
      for (std::int64_t c = 0; c < x.dim(1); ++c, image += plane)
        for (std::int64_t ky = 0; ky < w.y.kernel; ++ky)
          for (std::int64_t kx = 0; kx < w.x.kernel; ++kx) {
            std::int64_t iy = y0 + ky * w.y.dilation, ix = x0 + kx * w.x.dilation;
            bool inside = iy >= 0 && iy < w.y.in && ix >= 0 && ix < w.x.in;
            rows->push_back(inside ? image[iy * w.x.in + ix] : 0.0f);
          }
    }
  }

 private:
  ops::Window window_of(const Shape& x) const {
    return ops::conv_window(node_, x[2], x[3], weight_[2], weight_[3]);
  }
  const Node& node_;
  const Shape& weight_;
};

std::vector<float> columns_of(const std::vector<float>& rows, std::int64_t width, std::int64_t first,
                              std::int64_t count) {
  std::vector<float> result;
  for (std::size_t at = static_cast<std::size_t>(first); at < rows.size();
       at += static_cast<std::size_t>(width))
    result.insert(result.end(), rows.begin() + static_cast<std::ptrdiff_t>(at),
                  rows.begin() + static_cast<std::ptrdiff_t>(at) + count);
  return result;
}

OCTET_CLONES void add_multiple(float* to, const float* from, float factor, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) to[i] += factor * from[i];
}

OCTET_CLONES float dot(const float* a, const float* b, std::int64_t count) {
  float lanes[8] = {};
  std::int64_t i = 0;
  for (; i + 8 <= count; i += 8)
    for (int l = 0; l < 8; ++l) lanes[l] += a[i + l] * b[i + l];
  float sum = 0;
  for (float lane : lanes) sum += lane;
  for (; i < count; ++i) sum += a[i] * b[i];
  return sum;
}

// The columns' means become 0.
void centre(std::vector<float>& rows, std::int64_t columns) {
  auto n = static_cast<std::size_t>(columns);
  std::vector<double> mean(n);
  std::size_t count = rows.size() / n;
  for (std::size_t i = 0; i < rows.size(); ++i) mean[i % n] += static_cast<double>(rows[i]);
  for (std::size_t i = 0; i < rows.size(); ++i)
    rows[i] -= static_cast<float>(mean[i % n] / static_cast<double>(count));
}

// to[k] += the products of column k of `rows` with the columns k .. of `others` (all columns, row by row).
std::vector<float> products(const std::vector<float>& rows, std::int64_t columns,
                            const std::vector<float>& others, std::int64_t other_columns, ThreadPool& pool) {
  std::vector<float> result(static_cast<std::size_t>(columns * other_columns));
  std::int64_t count = static_cast<std::int64_t>(rows.size()) / columns;
  constexpr std::int64_t kBlock = 16;  // columns of a task: their sums stay in the cache
  pool.parallel_for((columns + kBlock - 1) / kBlock, [&](std::int64_t block) {
    std::int64_t from = block * kBlock, to = std::min(columns, from + kBlock);
    for (std::int64_t r = 0; r < count; ++r)
      for (std::int64_t k = from; k < to; ++k)
        if (float x = rows[static_cast<std::size_t>(r * columns + k)]; x != 0)
          add_multiple(result.data() + k * other_columns, others.data() + r * other_columns, x,
                       other_columns);
  });
  return result;
}

// The weights of one output channel: where they lie and what one unit is worth.
struct Channel {
  std::size_t first, stride;
  float step;
};

void round_channel(const Channel& channel, std::span<const float> weights, std::span<std::int8_t> integers,
                   float levels, const std::vector<float>& squares, const std::vector<float>& pull,
                   std::int64_t columns) {
  auto n = static_cast<std::size_t>(columns);
  std::vector<float> gradient(pull), down(n);
  float trace = 0;
  for (std::size_t k = 0; k < n; ++k) trace += squares[k * n + k];
  const float ridge = kRidge * trace / static_cast<float>(columns);
  for (std::size_t k = 0; k < n; ++k) {
    std::size_t at = channel.first + k * channel.stride;
    float rounded = static_cast<float>(integers[at]) * channel.step;
    add_multiple(gradient.data(), squares.data() + k * n, rounded, columns);
    gradient[k] += ridge * (rounded - weights[at]);
    down[k] = std::clamp(std::floor(weights[at] / channel.step), -levels, levels);
  }
  constexpr int kSweeps = 20;
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    bool flipped = false;
    for (std::size_t k = 0; k < n; ++k) {
      std::size_t at = channel.first + k * channel.stride;
      auto now = static_cast<float>(integers[at]);
      float other = now > down[k] ? down[k] : std::min(down[k] + 1, levels);
      float change = (other - now) * channel.step;
      float diagonal = squares[k * n + k] + ridge;
      if (2 * change * gradient[k] + change * change * diagonal >= 0) continue;
      integers[at] = static_cast<std::int8_t>(other);
      add_multiple(gradient.data(), squares.data() + k * n, change, columns);
      gradient[k] += ridge * change;
      flipped = true;
    }
    if (!flipped) break;
  }
}

}  // namespace

std::int64_t OutputRounding::positions(const Node& node, const Shape& weight, const Shape& x) {
  PatchReader reader(node, weight);
  return reader.can_read() ? reader.positions(x) : 0;
}

OutputRounding::OutputRounding(const Node& node, std::int64_t axis, const Tensor& floats,
                               std::int64_t positions)
    : node_(node),
      axis_(axis),
      floats_(floats.aligned()),
      step_(std::max<std::int64_t>(1, positions / kPositions) | 1) {
}  // odd: not always the same column of the image

void OutputRounding::add(const Tensor& exact, const Tensor& given, float threshold, int bits) {
  PatchReader reader(node_, floats_.shape());
  reader.read(exact, step_, &exact_);
  std::size_t before = rounded_.size();
  reader.read(given, step_, &rounded_);
  Quantizer quantizer = Quantizer::of_abs_max(threshold, bits, false);
  quantize_run(rounded_.data() + before, static_cast<std::int64_t>(rounded_.size() - before), quantizer,
               rounded_.data() + before);
  for (std::size_t i = before; i < rounded_.size(); ++i)
    rounded_[i] = rounded_[i] * threshold / quantizer.high;
}

void OutputRounding::round(QuantizedWeight* weight, bool shift_is_free, ThreadPool& pool) {
  PatchReader reader(node_, floats_.shape());
  if (shift_is_free) {
    centre(exact_, reader.columns() * reader.groups());
    centre(rounded_, reader.columns() * reader.groups());
  }
  if (reader.groups() == 1) return round_group(0, weight, pool);
  pool.parallel_for(reader.groups(), [&](std::int64_t group) {
    ThreadPool alone(1);
    round_group(group, weight, alone);
  });
}

void OutputRounding::round_group(std::int64_t group, QuantizedWeight* weight, ThreadPool& pool) {
  PatchReader reader(node_, floats_.shape());
  std::int64_t groups = reader.groups(), columns = reader.columns();
  std::int64_t channels = floats_.size() / columns, of_group = channels / groups;
  bool transposed = node_.op != "conv2d" && axis_ == 1;  // [K, N]: a channel is a column
  auto from = floats_.data<float>();
  auto to = weight->integers.mutable_data<std::int8_t>();
  auto scales = weight->abs_max.data<float>();
  std::vector<float> exact = columns_of(exact_, columns * groups, group * columns, columns);
  std::vector<float> rounded = columns_of(rounded_, columns * groups, group * columns, columns);
  auto channel_of = [&](std::int64_t o) {
    auto at = static_cast<std::size_t>(group * of_group + o);
    float step = scales[scales.size() == 1 ? 0 : at] / weight->levels();
    return transposed ? Channel{at, static_cast<std::size_t>(channels), step}
                      : Channel{at * static_cast<std::size_t>(columns), 1, step};
  };
  // target: minus what the layer makes of the exact input; pulls: what that means for each weight.
  std::int64_t rows = static_cast<std::int64_t>(exact.size()) / columns;
  std::vector<float> target(static_cast<std::size_t>(rows * of_group));
  pool.parallel_for(of_group, [&](std::int64_t o) {
    Channel channel = channel_of(o);
    std::vector<float> w(static_cast<std::size_t>(columns));
    for (std::size_t k = 0; k < w.size(); ++k) w[k] = from[channel.first + k * channel.stride];
    for (std::int64_t r = 0; r < rows; ++r)
      target[static_cast<std::size_t>(r * of_group + o)] =
          -dot(exact.data() + r * columns, w.data(), columns);
  });
  std::vector<float> squares = products(rounded, columns, rounded, columns, pool);
  std::vector<float> pulls = products(rounded, columns, target, of_group, pool);
  pool.parallel_for(of_group, [&](std::int64_t o) {
    std::vector<float> pull(static_cast<std::size_t>(columns));
    for (std::size_t k = 0; k < pull.size(); ++k)
      pull[k] = pulls[k * static_cast<std::size_t>(of_group) + static_cast<std::size_t>(o)];
    round_channel(channel_of(o), from, to, weight->levels(), squares, pull, columns);
  });
}

}  // namespace octet::quant
