#include "data/opencv_filters.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "base/error.h"

namespace octet {

namespace {

constexpr int kChannels = Image::kChannels;

std::size_t index(int i) {
  return static_cast<std::size_t>(i);
}

// OpenCV's BORDER_REFLECT_101: the edge itself is not repeated.
int reflected(int i, int size) {
  if (size == 1) return 0;
  while (i < 0 || i >= size) i = i < 0 ? -i : 2 * (size - 1) - i;
  return i;
}

// In 1/256: for sigma 0 OpenCV has these by heart, and its sums of 8-bit pixels are exact.
std::span<const int> gaussian_weights(int size) {
  static constexpr int k3[] = {64, 128, 64}, k5[] = {16, 64, 96, 64, 16}, k7[] = {8, 28, 56, 72, 56, 28, 8},
                       k9[] = {4, 13, 30, 51, 60, 51, 30, 13, 4};
  if (size == 3) return k3;
  if (size == 5) return k5;
  if (size == 7) return k7;
  return k9;
}

// Sums over windows of size x size, separately along rows and columns; `weights` for each of the window.
template <class Finish>
Image filtered(const Image& image, std::span<const int> weights, const Finish& finish) {
  const int size = static_cast<int>(weights.size()), half = size / 2;
  std::vector<std::vector<int>> lines(index(image.height), std::vector<int>(image.stride()));
  for (int y = 0; y < image.height; ++y) {
    const std::uint8_t* row = image.row(y);
    int* to = lines[index(y)].data();
    for (int x = 0; x < image.width; ++x)
      for (int i = 0; i < size; ++i) {
        const std::uint8_t* from = row + index(reflected(x + i - half, image.width)) * kChannels;
        for (int c = 0; c < kChannels; ++c) to[x * kChannels + c] += from[c] * weights[index(i)];
      }
  }
  Image out(image.width, image.height);
  std::vector<int> sums(image.stride());
  for (int y = 0; y < image.height; ++y) {
    std::ranges::fill(sums, 0);
    for (int i = 0; i < size; ++i) {
      const std::vector<int>& line = lines[index(reflected(y + i - half, image.height))];
      for (std::size_t x = 0; x < sums.size(); ++x) sums[x] += line[x] * weights[index(i)];
    }
    std::ranges::transform(sums, out.row(y), finish);
  }
  return out;
}

// Where a pixel of a warped picture comes from, in 1/32 pixel or, with no such bits, in whole ones. OpenCV
// counts in 1/1024.
struct Origins {
  Origins(const std::array<double, 6>& matrix, int width, int fraction_bits)
      : m(matrix), shift(kBits - fraction_bits), half(1 << (shift - 1)) {
    for (int x = 0; x < width; ++x) {
      steps_x.push_back(std::lrint(m[0] * x * kScale));
      steps_y.push_back(std::lrint(m[3] * x * kScale));
    }
  }
  void start_row(int y) {
    row_x = std::lrint((m[1] * y + m[2]) * kScale) + half;
    row_y = std::lrint((m[4] * y + m[5]) * kScale) + half;
  }
  std::int64_t x(int i) const { return (row_x + steps_x[index(i)]) >> shift; }
  std::int64_t y(int i) const { return (row_y + steps_y[index(i)]) >> shift; }

  static constexpr int kBits = 10, kScale = 1 << kBits;
  std::array<double, 6> m;
  int shift, half;
  std::vector<std::int64_t> steps_x, steps_y;
  std::int64_t row_x = 0, row_y = 0;
};

}  // namespace

Image gaussian_blur(const Image& image, int size) {
  return filtered(image, gaussian_weights(size),
                  [](int sum) { return static_cast<std::uint8_t>((sum + (1 << 15)) >> 16); });
}

Image box_blur(const Image& image, int size) {
  const std::vector<int> ones(index(size), 1);
  const int area = size * size;  // odd: there are no halves to round
  return filtered(image, ones,
                  [area](int sum) { return static_cast<std::uint8_t>((2 * sum + area) / (2 * area)); });
}

// The edge is repeated here, unlike in the others. The histogram of a window slides along the row.
Image median_blur(const Image& image, int size) {
  const int half = size / 2, middle = size * size / 2;
  Image out(image.width, image.height);
  const auto clamped = [](int i, int n) { return std::clamp(i, 0, n - 1); };
  for (int c = 0; c < kChannels; ++c) {
    for (int y = 0; y < image.height; ++y) {
      std::array<int, 256> histogram{};
      int below = 0, value = 0;  // of the window's pixels, how many are less than `value`
      const auto count = [&](int x, int change) {
        for (int dy = -half; dy <= half; ++dy) {
          const int seen = image.row(clamped(y + dy, image.height))[clamped(x, image.width) * kChannels + c];
          histogram[index(seen)] += change;
          if (seen < value) below += change;
        }
      };
      for (int x = -half; x < half; ++x) count(x, 1);
      for (int x = 0; x < image.width; ++x) {
        count(x + half, 1);
        while (below > middle) below -= histogram[index(--value)];
        while (below + histogram[index(value)] <= middle) below += histogram[index(value++)];
        out.row(y)[x * kChannels + c] = static_cast<std::uint8_t>(value);
        count(x - half, -1);
      }
    }
  }
  return out;
}

FloatImage warp_affine(const FloatImage& image, const std::array<double, 6>& m, int width, int height,
                       const std::array<float, 3>& fill) {
  constexpr int kFractionBits = 5, kSteps = 1 << kFractionBits;
  FloatImage out(width, height);
  Origins origins(m, width, kFractionBits);
  const auto pixel = [&](std::int64_t x, std::int64_t y) {
    const bool inside = x >= 0 && x < image.width && y >= 0 && y < image.height;
    return inside ? image.row(static_cast<int>(y)) + x * kChannels : fill.data();
  };
  for (int y = 0; y < height; ++y) {
    origins.start_row(y);
    float* to = out.row(y);
    for (int x = 0; x < width; ++x, to += kChannels) {
      const std::int64_t at_x = origins.x(x), at_y = origins.y(x);
      const auto fx = static_cast<float>(at_x & (kSteps - 1)) / kSteps;
      const auto fy = static_cast<float>(at_y & (kSteps - 1)) / kSteps;
      const std::int64_t left = at_x >> kFractionBits, top = at_y >> kFractionBits;
      const float *a = pixel(left, top), *b = pixel(left + 1, top), *c = pixel(left, top + 1),
                  *d = pixel(left + 1, top + 1);
      for (int i = 0; i < kChannels; ++i)
        to[i] = a[i] * (1 - fx) * (1 - fy) + b[i] * fx * (1 - fy) + c[i] * (1 - fx) * fy + d[i] * fx * fy;
    }
  }
  return out;
}

Mask warp_affine(const Mask& mask, const std::array<double, 6>& m, int width, int height, std::uint8_t fill) {
  Mask out(width, height);
  Origins origins(m, width, 0);
  for (int y = 0; y < height; ++y) {
    origins.start_row(y);
    for (int x = 0; x < width; ++x) {
      const std::int64_t at_x = origins.x(x), at_y = origins.y(x);
      const bool inside = at_x >= 0 && at_x < mask.width && at_y >= 0 && at_y < mask.height;
      out.row(y)[x] = inside ? mask.row(static_cast<int>(at_y))[at_x] : fill;
    }
  }
  return out;
}

}  // namespace octet
