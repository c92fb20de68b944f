#include "quant/rounding.h"

#include <algorithm>
#include <cmath>

#include "graph/ops/geometry.h"
#include "kernels/quantizer.h"
#include "kernels/ref/clones.h"

namespace octet::quant {

namespace {

constexpr std::int64_t kPositions = 4096;  // of outputs, that a layer is judged by
constexpr float kRidge = 0.01f;            // how much staying near the float weight counts, against overfitting

// What a layer's output positions see of its input: a row each, float and quantized.
struct Patches {
  std::int64_t rows = 0, columns = 0;
  std::vector<float> exact, rounded;
};

// Which elements of the input are under the weights of a group at each output position.
class PatchReader {
 public:
  PatchReader(const Node& node, const Shape& weight) : node_(node), weight_(weight) {}

  bool can_read() const {
    if (node_.op == "conv2d") return true;
    return node_.op == "matmul_flat" || (node_.op == "matmul" && !attr<bool>(node_, "transpose_x"));
  }
  std::int64_t groups() const { return node_.op == "conv2d" ? attr<std::int64_t>(node_, "groups") : 1; }
  std::int64_t columns() const {
    if (node_.op == "conv2d") return weight_[1] * weight_[2] * weight_[3];
    return weight_[node_.op == "matmul" && attr<bool>(node_, "transpose_y") ? 1 : 0];
  }
  std::int64_t positions(const Shape& x) const {
    if (node_.op != "conv2d") return element_count(x) / columns();
    ops::Window window = window_of(x);
    return x[0] * window.y.out * window.x.out;
  }

  // Every `step`-th position of group `group`, from all of x.
  void read(const Tensor& x, std::int64_t group, std::int64_t step, std::vector<float>* rows) const {
    const float* data = x.data<float>().data();
    if (node_.op != "conv2d") {
      for (std::int64_t p = 0; p < positions(x.shape()); p += step)
        rows->insert(rows->end(), data + p * columns(), data + (p + 1) * columns());
      return;
    }
    ops::Window w = window_of(x.shape());
    std::int64_t plane = w.y.in * w.x.in, area = w.y.out * w.x.out, first = group * weight_[1];
    for (std::int64_t p = 0; p < x.dim(0) * area; p += step) {
      const float* image = data + (p / area * x.dim(1) + first) * plane;
      std::int64_t y0 = p % area / w.x.out * w.y.stride - w.y.before, x0 = p % w.x.out * w.x.stride - w.x.before;
      for (std::int64_t c = 0; c < weight_[1]; ++c, image += plane)
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

// The columns' means become 0: what shifts a whole channel is left to bias correction.
void centre(std::vector<float>& rows, std::int64_t columns) {
  auto n = static_cast<std::size_t>(columns);
  std::vector<double> mean(n);
  std::size_t count = rows.size() / n;
  for (std::size_t i = 0; i < rows.size(); ++i) mean[i % n] += static_cast<double>(rows[i]);
  for (std::size_t i = 0; i < rows.size(); ++i)
    rows[i] -= static_cast<float>(mean[i % n] / static_cast<double>(count));
}

// to[k] += the products of column k of `rows` with the columns k .. of `others` (all columns, row by row).
std::vector<float> products(const std::vector<float>& rows, std::int64_t columns, const std::vector<float>& others,
                            std::int64_t other_columns, ThreadPool& pool) {
  std::vector<float> result(static_cast<std::size_t>(columns * other_columns));
  std::int64_t count = static_cast<std::int64_t>(rows.size()) / columns;
  constexpr std::int64_t kBlock = 16;  // columns of a task: their sums stay in the cache
  pool.parallel_for((columns + kBlock - 1) / kBlock, [&](std::int64_t block) {
    std::int64_t from = block * kBlock, to = std::min(columns, from + kBlock);
    for (std::int64_t r = 0; r < count; ++r)
      for (std::int64_t k = from; k < to; ++k)
        if (float x = rows[static_cast<std::size_t>(r * columns + k)]; x != 0)
          add_multiple(result.data() + k * other_columns, others.data() + r * other_columns, x, other_columns);
  });
  return result;
}

// The weights of one output channel: where they lie and what one unit is worth.
struct Channel {
  std::size_t first, stride;
  float step;
};

void round_channel(const Channel& channel, std::span<const float> weights, std::span<std::int8_t> integers, float levels,
                   const std::vector<float>& squares, const std::vector<float>& pull, std::int64_t columns) {
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

void round_to_outputs(const Graph& graph, const Points& points, const std::map<ValueId, float>& thresholds,
                      std::map<ValueId, QuantizedWeight>* weights, const Sample& sample, int bits, ThreadPool& pool,
                      const std::function<void()>& done) {
  for (const Layer& layer : points.layers) {
    const Node& node = graph.nodes[static_cast<std::size_t>(layer.node)];
    if (layer.weights && thresholds.contains(node.inputs[0])) {
      QuantizedWeight& weight = weights->at(node.inputs[1]);
      Tensor floats = graph.value(node.inputs[1]).constant.aligned();
      PatchReader reader(node, floats.shape());
      if (!reader.can_read()) continue;
      std::vector<Tensor> inputs;
      TensorRunner runner(graph, {node.inputs[0]}, pool);
      std::int64_t positions = 0;
      for (const auto& part : sample) {
        runner.run(part);
        inputs.push_back(runner[node.inputs[0]].clone());
        positions += reader.positions(inputs.back().shape());
      }
      std::int64_t step = std::max<std::int64_t>(1, positions / kPositions) | 1;  // odd: not always the same column
      std::int64_t groups = reader.groups(), columns = reader.columns();
      std::int64_t channels = floats.size() / columns, of_group = channels / groups;
      bool transposed = node.op != "conv2d" && layer.axis == 1;  // [K, N]: a channel is a column
      float threshold = thresholds.at(node.inputs[0]);
      Quantizer quantizer = Quantizer::of_abs_max(threshold, bits, false);
      auto from = floats.data<float>();
      auto to = weight.integers.mutable_data<std::int8_t>();
      auto scales = weight.abs_max.data<float>();
      auto work = [&](std::int64_t group, ThreadPool& threads) {
        std::vector<float> exact, rounded;
        for (const Tensor& x : inputs) reader.read(x, group, step, &exact);
        rounded.resize(exact.size());
        quantize_run(exact.data(), static_cast<std::int64_t>(exact.size()), quantizer, rounded.data());
        for (float& x : rounded) x = x * threshold / quantizer.high;
        centre(exact, columns);
        centre(rounded, columns);
        // target: what the layer makes of the exact input; pull: minus how much each rounded column wants of it.
        std::int64_t rows = static_cast<std::int64_t>(exact.size()) / columns;
        std::vector<float> target(static_cast<std::size_t>(rows * of_group));
        auto channel_of = [&](std::int64_t o) {
          std::int64_t c = group * of_group + o;
          auto at = static_cast<std::size_t>(c);
          float step_size = scales[scales.size() == 1 ? 0 : at] / weight.levels();
          return transposed ? Channel{at, static_cast<std::size_t>(channels), step_size}
                            : Channel{at * static_cast<std::size_t>(columns), 1, step_size};
        };
        threads.parallel_for(of_group, [&](std::int64_t o) {
          Channel channel = channel_of(o);
          std::vector<float> w(static_cast<std::size_t>(columns));
          for (std::size_t k = 0; k < w.size(); ++k) w[k] = from[channel.first + k * channel.stride];
          for (std::int64_t r = 0; r < rows; ++r)
            target[static_cast<std::size_t>(r * of_group + o)] = -dot(exact.data() + r * columns, w.data(), columns);
        });
        std::vector<float> squares = products(rounded, columns, rounded, columns, threads);
        std::vector<float> pulls = products(rounded, columns, target, of_group, threads);
        threads.parallel_for(of_group, [&](std::int64_t o) {
          std::vector<float> pull(static_cast<std::size_t>(columns));
          for (std::size_t k = 0; k < pull.size(); ++k)
            pull[k] = pulls[k * static_cast<std::size_t>(of_group) + static_cast<std::size_t>(o)];
          round_channel(channel_of(o), from, to, weight.levels(), squares, pull, columns);
        });
      };
      if (groups == 1) {
        work(0, pool);
      } else {
        pool.parallel_for(groups, [&](std::int64_t group) {
          ThreadPool alone(1);
          work(group, alone);
        });
      }
    }
    done();
  }
}

}  // namespace octet::quant
