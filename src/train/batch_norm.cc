#include "train/batch_norm.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "train/bfloat16.h"

namespace octet::train {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// A tensor seen as rows of channels: its channels lie side by side in memory.
bool is_rows(const at::Tensor& x) {
  if (!x.is_cpu() || (x.scalar_type() != at::kFloat && x.scalar_type() != at::kBFloat16)) return false;
  return x.dim() == 2 ? x.is_contiguous() : x.dim() == 4 && x.is_contiguous(at::MemoryFormat::ChannelsLast);
}

std::vector<std::int64_t> all_but_channels(const at::Tensor& x) {
  std::vector<std::int64_t> dims = {0};
  for (std::int64_t i = 2; i < x.dim(); ++i) dims.push_back(i);
  return dims;
}

// A vector of channels, to be combined with x.
at::Tensor along_channels(const at::Tensor& vector, const at::Tensor& x) {
  std::vector<std::int64_t> shape(static_cast<std::size_t>(x.dim()), 1);
  shape[1] = -1;
  return vector.view(shape);
}

// The loops are compiled for the vectors of newer CPUs as well.
#define FOR_EACH_CPU __attribute__((target_clones("avx512f", "avx2", "default")))

FOR_EACH_CPU void add_products(const float* x, const float* y, double* sums, double* products,
                               std::int64_t rows, std::int64_t channels) {
  for (std::int64_t r = 0; r < rows; ++r, x += channels, y += channels)
    for (std::int64_t c = 0; c < channels; ++c) {
      const double v = x[c], w = y[c];
      sums[c] += v;
      products[c] += v * w;
    }
}

// out = a * x + b, channel by channel.
FOR_EACH_CPU void scale_rows(const float* x, const float* a, const float* b, float* out, std::int64_t rows,
                             std::int64_t channels) {
  for (std::int64_t r = 0; r < rows; ++r, x += channels, out += channels)
    for (std::int64_t c = 0; c < channels; ++c) out[c] = a[c] * x[c] + b[c];
}

// out = a * x + b * y + z, channel by channel.
FOR_EACH_CPU void combine_rows(const float* x, const float* y, const float* a, const float* b, const float* z,
                               float* out, std::int64_t rows, std::int64_t channels) {
  for (std::int64_t r = 0; r < rows; ++r, x += channels, y += channels, out += channels)
    for (std::int64_t c = 0; c < channels; ++c) out[c] = a[c] * x[c] + b[c] * y[c] + z[c];
}

// bfloat16: so many rows are taken as one that its numbers fill whole vectors.
std::int64_t rows_at_once(std::int64_t channels) {
  const std::int64_t whole = kLanes / std::gcd(kLanes, channels);
  return std::max<std::int64_t>(whole, 4 * kLanes / (whole * channels) * whole);
}

// The sums of x and of x * y, column by column, of some rows of a multiple of kLanes numbers. A product of
// two numbers of bfloat16 is a float, and few of them are added up before doubles take over.
FOR_EACH_CPU void add_low_products(const BFloat16* x, const BFloat16* y, double* sums, double* products,
                                   std::int64_t rows, std::int64_t width) {
  constexpr std::int64_t kFew = 32;
  for (std::int64_t first = 0; first < rows; first += kFew) {
    const std::int64_t last = std::min(rows, first + kFew);
    for (std::int64_t c = 0; c < width; c += kLanes) {
      Floats sum{}, product{};
      for (std::int64_t r = first; r < last; ++r) {
        Floats v, w;
        load(x + r * width + c, v);
        load(y + r * width + c, w);
        sum += v;
        product += v * w;
      }
      for (std::int64_t i = 0; i < kLanes; ++i) sums[c + i] += static_cast<double>(sum[i]);
      for (std::int64_t i = 0; i < kLanes; ++i) products[c + i] += static_cast<double>(product[i]);
    }
  }
}

FOR_EACH_CPU void scale_low_rows(const BFloat16* x, const float* a, const float* b, BFloat16* out,
                                 std::int64_t rows, std::int64_t width) {
  for (std::int64_t r = 0; r < rows; ++r, x += width, out += width)
    for (std::int64_t c = 0; c < width; c += kLanes) {
      Floats v, factor, offset;
      load(x + c, v);
      load(a + c, factor);
      load(b + c, offset);
      store(factor * v + offset, out + c);
    }
}

FOR_EACH_CPU void combine_low_rows(const BFloat16* x, const BFloat16* y, const float* a, const float* b,
                                   const float* z, BFloat16* out, std::int64_t rows, std::int64_t width) {
  for (std::int64_t r = 0; r < rows; ++r, x += width, y += width, out += width)
    for (std::int64_t c = 0; c < width; c += kLanes) {
      Floats v, w, of_x, of_y, offset;
      load(x + c, v);
      load(y + c, w);
      load(a + c, of_x);
      load(b + c, of_y);
      load(z + c, offset);
      store(of_x * v + of_y * w + offset, out + c);
    }
}

constexpr std::int64_t kPieces = 64;  // at most

// Calls work(first row, number of rows, index) for pieces of the rows, which are the same for any number of
// threads.
template <class Work>
std::int64_t for_pieces(const at::Tensor& x, const Work& work) {
  const std::int64_t rows = x.numel() / x.size(1);
  const std::int64_t pieces = std::clamp<std::int64_t>(x.numel() >> 14, 1, kPieces);
  at::parallel_for(0, pieces, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t first = i * rows / pieces;
      work(first, (i + 1) * rows / pieces - first, i);
    }
  });
  return pieces;
}

bool are_rows(const at::Tensor& x, const at::Tensor& y) {
  return is_rows(x) && is_rows(y) && x.scalar_type() == y.scalar_type();
}

at::Tensor low_sums_of(const at::Tensor& x, const at::Tensor& y) {
  const std::int64_t channels = x.size(1), together = rows_at_once(channels), width = together * channels;
  std::vector<double> parts(static_cast<std::size_t>(kPieces * 2 * width));
  const auto *from_x = x.const_data_ptr<BFloat16>(), *from_y = y.const_data_ptr<BFloat16>();
  const std::int64_t pieces = for_pieces(x, [&](std::int64_t first, std::int64_t rows, std::int64_t i) {
    const BFloat16 *vx = from_x + first * channels, *vy = from_y + first * channels;
    double *sums = parts.data() + i * 2 * width, *products = sums + width;
    add_low_products(vx, vy, sums, products, rows / together, width);
    for (std::int64_t j = rows / together * width; j < rows * channels; ++j) {
      const double v = widened(vx[j]), w = widened(vy[j]);
      sums[j % channels] += v;
      products[j % channels] += v * w;
    }
  });
  at::Tensor result = at::zeros({2 * channels}, at::kDouble);
  double* to = result.data_ptr<double>();
  const double* part = parts.data();
  for (std::int64_t i = 0; i < 2 * pieces * together; ++i, part += channels)
    for (std::int64_t c = 0; c < channels; ++c) to[i / together % 2 * channels + c] += part[c];
  return result;
}

// For each channel the sum of x, then that of x * y; in double.
at::Tensor sums_of(const at::Tensor& x, const at::Tensor& y) {
  const std::int64_t channels = x.size(1);
  if (!are_rows(x, y)) {
    const at::Tensor a = x.to(at::kDouble), b = y.to(at::kDouble);
    return at::cat({a.sum(all_but_channels(x)), (a * b).sum(all_but_channels(x))}).to(at::kCPU);
  }
  if (x.scalar_type() == at::kBFloat16) return low_sums_of(x, y);
  at::Tensor parts = at::zeros({kPieces, 2 * channels}, at::kDouble);
  double* to = parts.data_ptr<double>();
  const float *from_x = x.const_data_ptr<float>(), *from_y = y.const_data_ptr<float>();
  const std::int64_t pieces = for_pieces(x, [&](std::int64_t first, std::int64_t rows, std::int64_t i) {
    double* sums = to + i * 2 * channels;
    add_products(from_x + first * channels, from_y + first * channels, sums, sums + channels, rows, channels);
  });
  return parts.slice(0, 0, pieces).sum(0);
}

std::vector<float> repeated(const at::Tensor& numbers, std::int64_t times) {
  std::vector<float> all;
  const float* first = numbers.const_data_ptr<float>();
  for (std::int64_t i = 0; i < times; ++i) all.insert(all.end(), first, first + numbers.numel());
  return all;
}

at::Tensor scaled(const at::Tensor& x, const at::Tensor& a, const at::Tensor& b) {
  if (!is_rows(x)) return (x * along_channels(a, x) + along_channels(b, x)).to(x.scalar_type());
  at::Tensor out = at::empty_like(x);
  const std::int64_t channels = x.size(1);
  if (x.scalar_type() == at::kBFloat16) {
    const std::int64_t together = rows_at_once(channels), width = together * channels;
    const std::vector<float> wide_a = repeated(a, together), wide_b = repeated(b, together);
    const auto* from = x.const_data_ptr<BFloat16>();
    const float *pa = wide_a.data(), *pb = wide_b.data();
    auto* to = out.data_ptr<BFloat16>();
    for_pieces(x, [&](std::int64_t first, std::int64_t rows, std::int64_t) {
      const BFloat16* v = from + first * channels;
      BFloat16* place = to + first * channels;
      scale_low_rows(v, pa, pb, place, rows / together, width);
      for (std::int64_t j = rows / together * width; j < rows * channels; ++j)
        place[j] = narrowed<BFloat16>(pa[j % channels] * widened(v[j]) + pb[j % channels]);
    });
    return out;
  }
  const float *from = x.const_data_ptr<float>(), *pa = a.const_data_ptr<float>(),
              *pb = b.const_data_ptr<float>();
  float* to = out.data_ptr<float>();
  for_pieces(x, [&](std::int64_t first, std::int64_t rows, std::int64_t) {
    scale_rows(from + first * channels, pa, pb, to + first * channels, rows, channels);
  });
  return out;
}

at::Tensor combined(const at::Tensor& x, const at::Tensor& y, const at::Tensor& a, const at::Tensor& b,
                    const at::Tensor& z) {
  if (!are_rows(x, y))
    return (x * along_channels(a, x) + y * along_channels(b, x) + along_channels(z, x)).to(x.scalar_type());
  at::Tensor out = at::empty_like(x);
  const std::int64_t channels = x.size(1);
  if (x.scalar_type() == at::kBFloat16) {
    const std::int64_t together = rows_at_once(channels), width = together * channels;
    const std::vector<float> wide_a = repeated(a, together), wide_b = repeated(b, together),
                             wide_z = repeated(z, together);
    const auto *from_x = x.const_data_ptr<BFloat16>(), *from_y = y.const_data_ptr<BFloat16>();
    const float *pa = wide_a.data(), *pb = wide_b.data(), *pz = wide_z.data();
    auto* to = out.data_ptr<BFloat16>();
    for_pieces(x, [&](std::int64_t first, std::int64_t rows, std::int64_t) {
      const BFloat16 *vx = from_x + first * channels, *vy = from_y + first * channels;
      BFloat16* place = to + first * channels;
      combine_low_rows(vx, vy, pa, pb, pz, place, rows / together, width);
      for (std::int64_t j = rows / together * width; j < rows * channels; ++j) {
        const std::int64_t c = j % channels;
        place[j] = narrowed<BFloat16>(pa[c] * widened(vx[j]) + pb[c] * widened(vy[j]) + pz[c]);
      }
    });
    return out;
  }
  const float *from_x = x.const_data_ptr<float>(), *from_y = y.const_data_ptr<float>(),
              *pa = a.const_data_ptr<float>(), *pb = b.const_data_ptr<float>(),
              *pz = z.const_data_ptr<float>();
  float* to = out.data_ptr<float>();
  for_pieces(x, [&](std::int64_t first, std::int64_t rows, std::int64_t) {
    combine_rows(from_x + first * channels, from_y + first * channels, pa, pb, pz, to + first * channels,
                 rows, channels);
  });
  return out;
}

// The sum over all processes.
void add_up(at::Tensor& numbers, Comm* comm) {
  if (comm)
    comm->all_reduce(
        std::span<double>(numbers.data_ptr<double>(), static_cast<std::size_t>(numbers.numel())));
}

// Numbers of channels. There are few of them, and operations of libtorch on them would take longer than those
// on the pictures of small networks.
using Numbers = std::vector<double>;

Numbers numbers_of(const at::Tensor& tensor) {
  const at::Tensor numbers = tensor.detach().to(at::kCPU, at::kDouble).contiguous();
  const double* first = numbers.const_data_ptr<double>();
  return {first, first + numbers.numel()};
}

at::Tensor tensor_of(const Numbers& numbers, const at::TensorOptions& options) {
  at::Tensor tensor = at::empty({std::ssize(numbers)}, at::kDouble);
  std::ranges::copy(numbers, tensor.data_ptr<double>());
  return tensor.to(options);
}

struct BatchNorm : torch::autograd::Function<BatchNorm> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& scale,
                            const at::Tensor& bias, at::Tensor running_mean, at::Tensor running_variance,
                            double momentum, double epsilon, std::int64_t comm_address) {
    auto* comm = reinterpret_cast<Comm*>(comm_address);
    const auto channels = static_cast<std::size_t>(x.size(1));
    const auto here = static_cast<double>(x.numel() / x.size(1));
    at::Tensor sums = at::cat({sums_of(x, x), at::full({1}, here, at::kDouble)});
    add_up(sums, comm);
    const double *sum = sums.const_data_ptr<double>(), *squares = sum + channels, count = squares[channels];
    const Numbers factors = numbers_of(scale), offsets = numbers_of(bias);
    Numbers mean(channels), inverse(channels), unbiased(channels), a(channels), b(channels);
    for (std::size_t c = 0; c < channels; ++c) {
      mean[c] = sum[c] / count;
      const double square = squares[c] / count - mean[c] * mean[c];
      const double variance = square < 0 ? 0 : square;  // and NaN stays NaN
      unbiased[c] = variance * (count / std::max(count - 1, 1.0));
      inverse[c] = 1 / std::sqrt(variance + epsilon);
      a[c] = factors[c] * inverse[c];
      b[c] = offsets[c] - mean[c] * a[c];
    }
    running_mean.lerp_(tensor_of(mean, running_mean.options()), momentum);
    running_variance.lerp_(tensor_of(unbiased, running_variance.options()), momentum);
    context->save_for_backward({x, scale, tensor_of(mean, at::kDouble), tensor_of(inverse, at::kDouble)});
    context->saved_data["comm"] = comm_address;
    context->saved_data["count"] = count;
    const at::TensorOptions floats = scale.options().requires_grad(false);
    return scaled(x, tensor_of(a, floats), tensor_of(b, floats));
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    auto* comm = reinterpret_cast<Comm*>(context->saved_data["comm"].toInt());
    const double count = context->saved_data["count"].toDouble();
    const variable_list saved = context->get_saved_variables();
    const at::Tensor &x = saved[0], &scale = saved[1];
    const double *mean = saved[2].const_data_ptr<double>(), *inverse = saved[3].const_data_ptr<double>();
    const at::Tensor gradient =
        x.dim() == 4 ? gradients[0].contiguous(x.suggest_memory_format()) : gradients[0].contiguous();
    const auto channels = static_cast<std::size_t>(x.size(1));
    at::Tensor sums = sums_of(gradient, x);
    const double *sum = sums.const_data_ptr<double>(), *products = sum + channels;
    const Numbers factors = numbers_of(scale);
    Numbers scale_gradient(channels), bias_gradient(sum, products), a(channels), b(channels), z(channels);
    const auto centred = [&](std::size_t c) { return products[c] - mean[c] * sum[c]; };  // of x - its mean
    for (std::size_t c = 0; c < channels; ++c) scale_gradient[c] = centred(c) * inverse[c];
    add_up(sums, comm);
    // The gradient of x is a * gradient + b * x + z.
    for (std::size_t c = 0; c < channels; ++c) {
      a[c] = factors[c] * inverse[c];
      b[c] = -a[c] * inverse[c] * inverse[c] * (centred(c) / count);
      z[c] = -a[c] * (sum[c] / count) - b[c] * mean[c];
    }
    const at::TensorOptions floats = scale.options().requires_grad(false);
    return {combined(gradient, x, tensor_of(a, floats), tensor_of(b, floats), tensor_of(z, floats)),
            tensor_of(scale_gradient, floats),
            tensor_of(bias_gradient, floats),
            {},
            {},
            {},
            {},
            {}};
  }
};

}  // namespace

at::Tensor batch_norm(const at::Tensor& x, const at::Tensor& scale, const at::Tensor& bias, at::Tensor mean,
                      at::Tensor variance, double momentum, double epsilon, Comm* comm) {
  if (!comm && !x.is_cpu())
    return at::batch_norm(x, scale, bias, mean, variance, true, momentum, epsilon, true);
  return BatchNorm::apply(x, scale, bias, mean, variance, momentum, epsilon,
                          reinterpret_cast<std::int64_t>(comm));
}

}  // namespace octet::train
