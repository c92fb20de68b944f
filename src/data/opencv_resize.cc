#include "data/opencv_resize.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include "base/error.h"

// As in OpenCV's resize.cpp: separable, with the weights of an output the same for every row and column.

namespace octet {

namespace {

constexpr int kChannels = FloatImage::kChannels;

std::size_t index(int i) {
  return static_cast<std::size_t>(i);
}

// For each of some outputs along one axis: which inputs it sums, and with what weights.
struct Taps {
  std::vector<std::size_t> begins = {0};  // where those of an output begin
  std::vector<int> sources;
  std::vector<float> weights;

  void add(int source, float weight) {
    sources.push_back(source);
    weights.push_back(weight);
  }
  void end_output() { begins.push_back(sources.size()); }
};

// Keys' cubic convolution with a = -0.75.
std::array<float, 4> cubic_weights(float x) {
  constexpr float a = -0.75f;
  std::array<float, 4> w;
  w[0] = ((a * (x + 1) - 5 * a) * (x + 1) + 8 * a) * (x + 1) - 4 * a;
  w[1] = ((a + 2) * x - (a + 3)) * x * x + 1;
  w[2] = ((a + 2) * (1 - x) - (a + 3)) * (1 - x) * (1 - x) + 1;
  w[3] = 1.0f - w[0] - w[1] - w[2];
  return w;
}

std::array<float, 8> lanczos_weights(float x) {
  std::array<float, 8> w{};
  if (x < std::numeric_limits<float>::epsilon()) {
    w[3] = 1;
    return w;
  }
  constexpr double s = std::numbers::sqrt2 / 2;
  constexpr double kTurns[8][2] = {{1, 0}, {-s, -s}, {0, 1}, {s, -s}, {-1, 0}, {s, s}, {0, -1}, {-s, s}};
  const double y0 = -(x + 3) * std::numbers::pi * 0.25, sine = std::sin(y0), cosine = std::cos(y0);
  float sum = 0;
  for (int i = 0; i < 8; ++i) {
    const double y = -(x + 3 - static_cast<float>(i)) * std::numbers::pi * 0.25;
    w[index(i)] = static_cast<float>((kTurns[i][0] * sine + kTurns[i][1] * cosine) / (y * y));
    sum += w[index(i)];
  }
  for (float& weight : w) weight /= sum;
  return w;
}

template <std::size_t kCount>
void add_window(Taps& taps, int first, int in_size, const std::array<float, kCount>& weights) {
  for (std::size_t i = 0; i < kCount; ++i)
    taps.add(std::clamp(first + static_cast<int>(i), 0, in_size - 1), weights[i]);
}

// The mean over what an output pixel covers.
void add_area(Taps& taps, int i, double scale, int in_size) {
  const double begin = i * scale, end = begin + scale;
  const double covered = std::min(scale, in_size - begin);
  const int last = std::min(static_cast<int>(std::floor(end)), in_size - 1);
  const int first = std::min(static_cast<int>(std::ceil(begin)), last);
  constexpr double kLeast = 1e-3;
  if (first - begin > kLeast) taps.add(first - 1, static_cast<float>((first - begin) / covered));
  for (int x = first; x < last; ++x) taps.add(x, static_cast<float>(1 / covered));
  if (end - last > kLeast)
    taps.add(last, static_cast<float>(std::min(std::min(end - last, 1.0), covered) / covered));
}

struct Axis {
  int in_size, out_size, begin, count;  // the outputs [begin, begin + count) of out_size
};

Taps make_taps(const Axis& axis, Interpolation interpolation, bool shrinks) {
  const double inverse = static_cast<double>(axis.out_size) / axis.in_size, scale = 1 / inverse;
  const bool is_area = interpolation == Interpolation::kCvArea;
  Taps taps;
  for (int i = axis.begin; i < axis.begin + axis.count; ++i, taps.end_output()) {
    if (is_area && shrinks) {
      add_area(taps, i, scale, axis.in_size);
      continue;
    }
    float fraction = static_cast<float>((i + 0.5) * scale - 0.5);
    int near = static_cast<int>(std::floor(fraction));
    fraction -= static_cast<float>(near);
    if (is_area) {  // where it enlarges: linear, but pixels keep a middle part of one colour
      near = static_cast<int>(std::floor(i * scale));
      fraction = static_cast<float>((i + 1) - (near + 1) * inverse);
      fraction = fraction <= 0 ? 0 : fraction - std::floor(fraction);
    }
    if (interpolation == Interpolation::kCvCubic)
      add_window(taps, near - 1, axis.in_size, cubic_weights(fraction));
    else if (interpolation == Interpolation::kCvLanczos4)
      add_window(taps, near - 3, axis.in_size, lanczos_weights(fraction));
    else
      add_window(taps, near, axis.in_size, std::array{1 - fraction, fraction});
  }
  return taps;
}

template <class T>
void resample_row(const T* row, const Taps& taps, float* to) {
  const std::size_t outputs = taps.begins.size() - 1;
  for (std::size_t i = 0; i < outputs; ++i, to += kChannels) {
    float r = 0, g = 0, b = 0;
    for (std::size_t t = taps.begins[i]; t < taps.begins[i + 1]; ++t) {
      const T* from = row + index(taps.sources[t]) * kChannels;
      r += static_cast<float>(from[0]) * taps.weights[t];
      g += static_cast<float>(from[1]) * taps.weights[t];
      b += static_cast<float>(from[2]) * taps.weights[t];
    }
    to[0] = r;
    to[1] = g;
    to[2] = b;
  }
}

template <class Picture>
FloatImage resized(const Picture& image, int width, int height, Interpolation interpolation, const Box& box) {
  const bool shrinks = width <= image.width && height <= image.height;
  const Taps columns = make_taps({image.width, width, box.left, box.width}, interpolation, shrinks);
  const Taps rows = make_taps({image.height, height, box.top, box.height}, interpolation, shrinks);
  const auto [first, last] = std::ranges::minmax(rows.sources);
  FloatImage lines(box.width, last - first + 1);  // of the rows that are needed
  for (int y = first; y <= last; ++y) resample_row(image.row(y), columns, lines.row(y - first));

  FloatImage out(box.width, box.height);
  for (int y = 0; y < box.height; ++y) {
    float* to = out.row(y);
    std::fill_n(to, out.stride(), 0.0f);
    for (std::size_t t = rows.begins[index(y)]; t < rows.begins[index(y) + 1]; ++t) {
      const float* from = lines.row(rows.sources[t] - first);
      const float weight = rows.weights[t];
      for (std::size_t x = 0; x < out.stride(); ++x) to[x] += from[x] * weight;
    }
  }
  return out;
}

}  // namespace

FloatImage resize_floats(const Image& image, int width, int height, Interpolation interpolation,
                         const Box& box) {
  return resized(image, width, height, interpolation, box);
}

FloatImage resize_floats(const FloatImage& image, int width, int height, Interpolation interpolation,
                         const Box& box) {
  return resized(image, width, height, interpolation, box);
}

}  // namespace octet
