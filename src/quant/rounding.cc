#include "quant/rounding.h"

#include <algorithm>
#include <cmath>

#include "base/clones.h"
#include "graph/builder.h"
#include "graph/ops/geometry.h"
#include "runtime/executor.h"

namespace octet::quant {

namespace {

constexpr float kRidge = 0.1f;  // how much staying near the float weight counts, against overfitting
constexpr std::int64_t kMaxColumns = 8192;

// Places of the output that a layer is judged by: a few for each of the inputs of a channel.
std::int64_t wanted_positions(std::int64_t columns) {
  return std::clamp<std::int64_t>(4 * columns, 4096, 8192);
}

// Which elements of the input are under the weights at each position of the output: a row of the columns of
// all groups.
class PatchReader {
 public:
  PatchReader(const Node& node, const Shape& weight)
      : node_(node), weight_(weight), is_conv_(node.op == "conv2d") {}

  bool can_read() const {
    return is_conv_ || node_.op == "matmul_flat" ||
           (node_.op == "matmul" && !attr<bool>(node_, "transpose_x"));
  }
  std::int64_t groups() const { return is_conv_ ? attr<std::int64_t>(node_, "groups") : 1; }
  std::int64_t columns() const {  // of a group
    if (is_conv_) return weight_[1] * weight_[2] * weight_[3];
    return weight_[node_.op == "matmul" && attr<bool>(node_, "transpose_y") ? 1 : 0];
  }
  std::int64_t positions(const Shape& x) const {
    if (!is_conv_) return element_count(x) / columns();
    ops::Window window = window_of(x);
    return x[0] * window.y.out * window.x.out;
  }

  // Every `step`-th position, [positions, groups * columns].
  Tensor read(const Tensor& x, std::int64_t step) const {
    const std::int64_t count = (positions(x.shape()) + step - 1) / step;
    Tensor result(DType::kFloat32, {count, groups() * columns()});
    float* to = result.mutable_data<float>().data();
    const float* data = x.data<float>().data();
    if (!is_conv_) {
      for (std::int64_t p = 0; p < positions(x.shape()); p += step)
        to = std::copy(data + p * columns(), data + (p + 1) * columns(), to);
      return result;
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
            *to++ = inside ? image[iy * w.x.in + ix] : 0.0f;
          }
    }
    return result;
  }

 private:
  ops::Window window_of(const Shape& x) const {
    return ops::conv_window(node_, x[2], x[3], weight_[2], weight_[3]);
  }
  const Node& node_;
  const Shape& weight_;
  const bool is_conv_;
};

OCTET_CLONES void add_multiple(float* to, const float* from, float factor, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) to[i] += factor * from[i];
}

Tensor product(const Tensor& a, const Tensor& b, bool transpose_a, ThreadPool& pool) {
  Builder builder;
  ValueId x = builder.input("a", a.shape()), y = builder.input("b", b.shape());
  Graph graph = builder.build({builder.matmul(x, y, {.transpose_x = transpose_a})});
  return execute(prepare(graph, {}), {a, b}, pool)[0];
}

// Columns from `first` on, `count` of them.
Tensor columns_of(const Tensor& rows, std::int64_t first, std::int64_t count) {
  Tensor result(DType::kFloat32, {rows.dim(0), count});
  const float* from = rows.data<float>().data() + first;
  float* to = result.mutable_data<float>().data();
  for (std::int64_t r = 0; r < rows.dim(0); ++r, from += rows.dim(1)) to = std::copy_n(from, count, to);
  return result;
}

// The integers of one channel, and what one unit is worth.
struct Channel {
  std::int8_t* first;
  std::size_t stride;
  float step;
  std::int8_t& operator[](std::size_t k) const { return first[k * stride]; }
};

// Flips roundings of a channel for as long as that brings the error down. `difference`: of its weights from
// the exact ones; `gradient`: half of that of the error.
void flip(const Channel& channel, std::span<float> difference, std::span<float> gradient,
          const float* squares, float levels) {
  const std::size_t n = difference.size();
  constexpr int kSweeps = 20;
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    bool flipped = false;
    for (std::size_t k = 0; k < n; ++k) {
      // To the other side of the exact weight, if it is next to this one.
      const float sign = difference[k] > 0 ? -1.0f : 1.0f, change = sign * channel.step;
      const float other = static_cast<float>(channel[k]) + sign;
      if (std::fabs(other) > levels || std::fabs(difference[k]) > 1.001f * channel.step) continue;
      if (!(2 * change * gradient[k] + change * change * squares[k * n + k] < 0)) continue;  // NaN, too
      channel[k] = static_cast<std::int8_t>(other);
      difference[k] += change;
      add_multiple(gradient.data(), squares + k * n, change, static_cast<std::int64_t>(n));
      flipped = true;
    }
    if (!flipped) break;
  }
}

}  // namespace

std::size_t OutputRounding::bytes(const Node& layer, const Shape& weight) {
  PatchReader reader(layer, weight);
  if (!reader.can_read() || reader.columns() > kMaxColumns) return 0;
  return static_cast<std::size_t>(reader.groups() * reader.columns() * reader.columns()) * sizeof(float);
}

OutputRounding::OutputRounding(const Node& layer, Tensor weight, std::int64_t axis)
    : weight_(weight.aligned()), axis_(axis) {
  PatchReader reader(layer, weight_.shape());
  groups_ = reader.groups(), columns_ = reader.columns();
  squares_.resize(static_cast<std::size_t>(groups_ * columns_ * columns_));
  sums_.resize(static_cast<std::size_t>(groups_ * columns_));
}

void OutputRounding::add(const Node& layer, const Tensor& exact, const Tensor& given, std::int64_t calls,
                         ThreadPool& pool) {
  PatchReader reader(layer, weight_.shape());
  const std::int64_t all = calls * reader.positions(exact.shape());
  // An odd step: not always the same column of the image.
  const std::int64_t step = std::max<std::int64_t>(1, all / wanted_positions(columns_)) | 1;
  auto add_sums = [](const Tensor& rows, std::vector<double>* sums) {
    const float* row = rows.data<float>().data();
    for (std::int64_t r = 0; r < rows.dim(0); ++r, row += sums->size())
      for (std::size_t k = 0; k < sums->size(); ++k) (*sums)[k] += static_cast<double>(row[k]);
  };
  const Tensor rows = reader.read(given, step);
  count_ += rows.dim(0);
  add_sums(rows, &sums_);
  add_squares(rows, pool);
  if (given.bytes().data() == exact.bytes().data()) return;
  Tensor missing = reader.read(exact, step);
  add_multiple(missing.mutable_data<float>().data(), rows.data<float>().data(), -1, rows.size());
  missing_.resize(squares_.size());
  missing_sums_.resize(sums_.size());
  add_sums(missing, &missing_sums_);
  add_products(missing, rows, &missing_, pool);
}

void OutputRounding::add_squares(const Tensor& rows, ThreadPool& pool) {
  constexpr std::int64_t kBlock = 512;  // the rows of the matrix that are made together
  if (groups_ > 1) return add_products(rows, rows, &squares_, pool);
  for (std::int64_t k = 0; k < columns_; k += kBlock) {
    const Tensor right = columns_of(rows, k, columns_ - k),
                 more = product(columns_of(rows, k, std::min(kBlock, columns_ - k)), right, true, pool);
    for (std::int64_t i = 0; i < more.dim(0); ++i)
      add_multiple(squares_.data() + (k + i) * columns_ + k, more.data<float>().data() + i * more.dim(1), 1,
                   more.dim(1));
  }
}

void OutputRounding::add_products(const Tensor& left, const Tensor& right, std::vector<float>* products,
                                  ThreadPool& pool) {
  if (groups_ == 1) {
    const Tensor more = product(left, right, true, pool);
    return add_multiple(products->data(), more.data<float>().data(), 1, more.size());
  }
  pool.parallel_for(groups_, [&](std::int64_t group) {
    float* to = products->data() + group * columns_ * columns_;
    for (std::int64_t r = 0; r < left.dim(0); ++r) {
      const std::int64_t at = r * left.dim(1) + group * columns_;
      const float *a = left.data<float>().data() + at, *b = right.data<float>().data() + at;
      for (std::int64_t k = 0; k < columns_; ++k)
        if (a[k] != 0) add_multiple(to + k * columns_, b, a[k], columns_);
    }
  });
}

// As if the mean of each input were 0.
void OutputRounding::centre(std::vector<float>* products, const std::vector<double>& left,
                            const std::vector<double>& right) const {
  const auto n = static_cast<std::size_t>(columns_);
  for (std::size_t i = 0; i < products->size(); ++i) {
    const std::size_t group = i / (n * n), k = i / n % n, j = i % n;
    (*products)[i] -=
        static_cast<float>(left[group * n + k] * right[group * n + j] / static_cast<double>(count_));
  }
}

// Rows are those of channels: each times the matrix of its group.
Tensor OutputRounding::times(const Tensor& rows, const std::vector<float>& products, ThreadPool& pool) const {
  if (groups_ == 1)
    return product(rows, Tensor::of<float>({columns_, columns_}, products), false, pool).clone();
  Tensor result(DType::kFloat32, rows.shape());
  const std::int64_t of_group = rows.dim(0) / groups_;
  float* to = result.mutable_data<float>().data();
  pool.parallel_for(rows.dim(0), [&](std::int64_t o) {
    const float *matrix = products.data() + o / of_group * columns_ * columns_,
                *row = rows.data<float>().data() + o * columns_;
    std::fill_n(to + o * columns_, columns_, 0.0f);
    for (std::int64_t k = 0; k < columns_; ++k)
      add_multiple(to + o * columns_, matrix + k * columns_, row[k], columns_);
  });
  return result;
}

void OutputRounding::round(QuantizedWeight* weight, bool shift_is_free, ThreadPool& pool) {
  if (count_ == 0) return;
  if (groups_ == 1)
    for (std::int64_t k = 0; k < columns_; ++k)
      for (std::int64_t j = 0; j < k; ++j) squares_[k * columns_ + j] = squares_[j * columns_ + k];
  if (shift_is_free) {
    centre(&squares_, sums_, sums_);
    centre(&missing_, missing_sums_, sums_);
  }
  const auto n = static_cast<std::size_t>(columns_), size = n * n;
  for (std::size_t group = 0; group < squares_.size(); group += size) {
    double trace = 0;
    for (std::size_t k = 0; k < size; k += n + 1) trace += static_cast<double>(squares_[group + k]);
    const auto ridge = static_cast<float>(kRidge * trace / static_cast<double>(columns_));
    for (std::size_t k = 0; k < size; k += n + 1) squares_[group + k] += ridge;
  }
  const std::int64_t channels = weight_.size() / columns_;
  const bool transposed = axis_ == 1;  // [K, N]: a channel is a column
  const std::span<const float> floats = weight_.data<float>();
  const Quantization& how = weight->quantization;
  const auto levels = static_cast<float>(how.qmax());
  const std::span<std::int8_t> integers = weight->integers.mutable_data<std::int8_t>();
  const auto stride = static_cast<std::size_t>(transposed ? channels : 1);
  auto first = [&](std::int64_t o) { return static_cast<std::size_t>(transposed ? o : o * columns_); };
  auto channel = [&](std::int64_t o) {
    return Channel{integers.data() + first(o), stride, how.abs_max(static_cast<std::size_t>(o)) / levels};
  };
  auto row = [&](Tensor& matrix, std::int64_t o) {
    return matrix.mutable_data<float>().subspan(static_cast<std::size_t>(o) * n, n);
  };
  Tensor exact(DType::kFloat32, {channels, columns_}), differences(DType::kFloat32, {channels, columns_});
  for (std::int64_t o = 0; o < channels; ++o) {
    const Channel rounded = channel(o);
    for (std::size_t k = 0; k < n; ++k) {
      row(exact, o)[k] = floats[first(o) + k * stride];
      row(differences, o)[k] = static_cast<float>(rounded[k]) * rounded.step - row(exact, o)[k];
    }
  }
  Tensor gradients = times(differences, squares_, pool);
  if (!missing_.empty())
    add_multiple(gradients.mutable_data<float>().data(), times(exact, missing_, pool).data<float>().data(),
                 -1, gradients.size());
  pool.parallel_for(channels, [&](std::int64_t o) {
    flip(channel(o), row(differences, o), row(gradients, o),
         squares_.data() + static_cast<std::size_t>(o / (channels / groups_)) * size, levels);
  });
}

}  // namespace octet::quant
