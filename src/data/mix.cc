#include "data/mix.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"

namespace octet {

namespace {

// The logarithm of a number of Gamma(a, 1), by Marsaglia and Tsang; of a small `a` the number itself may be
// too small for a double.
double draw_log_gamma(double a, Random& random) {
  if (a < 1) return draw_log_gamma(a + 1, random) + std::log(1 - random.uniform()) / a;
  const double d = a - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  for (;;) {
    const double x = random.normal(), v = 1 + c * x;
    if (v <= 0) continue;
    const double cube = v * v * v;
    if (std::log(1 - random.uniform()) < 0.5 * x * x + d - d * cube + d * std::log(cube))
      return std::log(d * cube);
  }
}

// Rows and columns of a picture, the end of each not included.
struct Rectangle {
  std::int64_t top = 0, bottom = 0, left = 0, right = 0;
};

// Of this share of the area, around a random point; what reaches over the edge is left out.
Rectangle draw_box(std::int64_t height, std::int64_t width, double share, Random& random) {
  const double side = std::sqrt(share);
  const auto part = [&](std::int64_t size, std::int64_t& begin, std::int64_t& end) {
    const std::int64_t middle = random.below(size);
    const auto half = static_cast<std::int64_t>(static_cast<double>(size) * side / 2);
    begin = std::max<std::int64_t>(middle - half, 0);
    end = std::min(middle + half, size);
  };
  Rectangle box;
  part(height, box.top, box.bottom);
  part(width, box.left, box.right);
  return box;
}

}  // namespace

double draw_beta(double a, Random& random) {
  const double x = draw_log_gamma(a, random), y = draw_log_gamma(a, random);
  return 1 / (1 + std::exp(y - x));
}

void mix(Batch& batch, const MixOptions& options, Random shared, Random own) {
  if (options.mixup <= 0 && options.cutmix <= 0) return;
  check(batch.pixels.rank() == 4 && batch.pixels.dim(0) == std::ssize(batch.labels), "pictures are mixed");
  const bool cuts = options.cutmix > 0 && (options.mixup <= 0 || shared.uniform() < 0.5);
  double share = draw_beta(cuts ? options.cutmix : options.mixup, shared);  // of the other picture

  const std::size_t count = batch.labels.size();
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), 0u);
  for (std::size_t i = count; i > 1; --i)
    std::swap(order[i - 1], order[static_cast<std::size_t>(own.below(static_cast<std::int64_t>(i)))]);

  const Tensor other = batch.pixels;
  Tensor mixed(DType::kFloat32, other.shape());
  const std::span<const float> from = other.data<float>();
  const std::span<float> to = mixed.mutable_data<float>();
  const std::int64_t height = other.dim(2), width = other.dim(3);
  const std::size_t size = from.size() / count;
  if (cuts) {
    const Rectangle box = draw_box(height, width, share, shared);
    std::ranges::copy(from, to.begin());
    for (std::size_t i = 0; i < count; ++i)
      for (std::int64_t plane = 0; plane < other.dim(1); ++plane)
        for (std::int64_t y = box.top; y < box.bottom; ++y) {
          const auto begin = static_cast<std::size_t>((plane * height + y) * width + box.left);
          std::ranges::copy(
              from.subspan(order[i] * size + begin, static_cast<std::size_t>(box.right - box.left)),
              to.begin() + static_cast<std::ptrdiff_t>(i * size + begin));
        }
    share = static_cast<double>((box.bottom - box.top) * (box.right - box.left)) /
            static_cast<double>(height * width);
  } else {
    const auto weight = static_cast<float>(share);
    for (std::size_t i = 0; i < count; ++i)
      for (std::size_t p = 0; p < size; ++p)
        to[i * size + p] = (1 - weight) * from[i * size + p] + weight * from[order[i] * size + p];
  }
  batch.pixels = mixed;
  batch.mixture.share = share;
  for (std::size_t i : order) batch.mixture.labels.push_back(batch.labels[i]);
  if (share <= 0.5) return;
  std::swap(batch.labels, batch.mixture.labels);
  batch.mixture.share = 1 - share;
}

}  // namespace octet
