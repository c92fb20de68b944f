#include "data/resample.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/error.h"
#include "data/resample_pillow.h"

// OpenCV's INTER_LINEAR on 8-bit pictures, reproduced to the bit: two taps a direction; weights with 11
// fraction bits; the columns' sums are kept in full, and the rows drop bits in the way of the library's
// 16-bit vector multiplications. Pillow's filters are in resample_pillow.cc.

namespace octet {

namespace {

constexpr int kChannels = Image::kChannels;

// A longer side is refused: no such picture is meant, and the nearest filter walks along the whole of it.
constexpr int kMaxSide = 1 << 24;

constexpr std::array<std::string_view, 10> kNames = {"nearest", "bilinear", "bicubic", "opencv",   "NEAREST",
                                                     "LINEAR",  "CUBIC",    "AREA",    "LANCZOS4", "RANDOM"};

std::size_t index(int i) {
  return static_cast<std::size_t>(i);
}

// Nearest.

// The sources of the outputs [begin, begin + count). Pillow adds up the step, so its rounding errors add up
// as well.
std::vector<int> nearest_sources(int in_size, int out_size, int begin, int count) {
  const double step = static_cast<double>(in_size) / out_size;
  double position = step * 0.5;
  std::vector<int> sources(index(count));
  for (int i = 0; i < begin + count; ++i, position += step)
    if (i >= begin) sources[index(i - begin)] = std::min(static_cast<int>(position), in_size - 1);
  return sources;
}

// OpenCV's INTER_NEAREST has no half pixels. It rounds the ratio of the sizes, and then its inverse.
std::vector<int> opencv_nearest_sources(int in_size, int out_size, int begin, int count) {
  const double step = 1.0 / (static_cast<double>(out_size) / in_size);
  std::vector<int> sources;
  for (int i = begin; i < begin + count; ++i)
    sources.push_back(std::min(static_cast<int>(std::floor(i * step)), in_size - 1));
  return sources;
}

template <class Picture>
Picture take_nearest(const Picture& picture, const std::vector<int>& columns, const std::vector<int>& rows) {
  Picture out(static_cast<int>(columns.size()), static_cast<int>(rows.size()));
  for (int y = 0; y < out.height; ++y) {
    const auto* row = picture.row(rows[index(y)]);
    auto* to = out.row(y);
    for (int x : columns) to = std::copy_n(row + index(x) * Picture::kChannels, Picture::kChannels, to);
  }
  return out;
}

template <class Picture>
Picture resize_nearest(const Picture& picture, int width, int height, const Box& box) {
  return take_nearest(picture, nearest_sources(picture.width, width, box.left, box.width),
                      nearest_sources(picture.height, height, box.top, box.height));
}

// OpenCV.

constexpr int kOpenCVBits = 11;

// An output is (near * weights[0] + far * weights[1]) >> 11.
struct TwoTaps {
  int near;
  int far;
  std::array<std::int32_t, 2> weights;
};

std::vector<TwoTaps> make_two_taps(int in_size, int out_size, int begin, int count, bool clamp_fraction) {
  const double scale = 1.0 / (static_cast<double>(out_size) / in_size);
  std::vector<TwoTaps> taps;
  taps.reserve(index(count));
  for (int i = begin; i < begin + count; ++i) {
    float fraction = static_cast<float>((i + 0.5) * scale - 0.5);
    int near = static_cast<int>(std::floor(fraction));
    fraction -= static_cast<float>(near);
    if (clamp_fraction && (near < 0 || near >= in_size - 1)) fraction = 0.0f;
    auto weight = [](float value) {
      return static_cast<std::int32_t>(std::lrint(value * static_cast<float>(1 << kOpenCVBits)));
    };
    taps.push_back({std::clamp(near, 0, in_size - 1),
                    std::clamp(near + 1, 0, in_size - 1),
                    {weight(1.0f - fraction), weight(fraction)}});
  }
  return taps;
}

// Exactly half the size in both directions: OpenCV takes the mean of four pixels.
Image halve(const Image& image, const Box& box) {
  Image out(box.width, box.height);
  for (int y = 0; y < box.height; ++y) {
    const std::uint8_t* upper = image.row(2 * (box.top + y)) + index(2 * box.left) * kChannels;
    const std::uint8_t* lower = upper + image.stride();
    std::uint8_t* to = out.row(y);
    constexpr std::ptrdiff_t kStep = std::ptrdiff_t{2} * kChannels;
    for (int x = 0; x < box.width; ++x, upper += kStep, lower += kStep)
      for (int c = 0; c < kChannels; ++c)
        *to++ = static_cast<std::uint8_t>(
            (upper[c] + upper[c + kChannels] + lower[c] + lower[c + kChannels] + 2) >> 2);
  }
  return out;
}

Image resize_opencv(const Image& image, int width, int height, const Box& box) {
  if (image.width == 2 * std::int64_t{width} && image.height == 2 * std::int64_t{height})
    return halve(image, box);
  const std::vector<TwoTaps> columns = make_two_taps(image.width, width, box.left, box.width, true);
  const std::vector<TwoTaps> rows = make_two_taps(image.height, height, box.top, box.height, false);

  // The two source rows that an output row needs, resampled along x. Neighbouring output rows often share
  // them.
  struct Line {
    int source = -1;
    std::vector<std::int32_t> sums;
  };
  std::array<Line, 2> lines;
  auto resample = [&](Line& line, int source) {
    if (line.source == source) return;
    line.source = source;
    line.sums.resize(index(box.width) * kChannels);
    const std::uint8_t* row = image.row(source);
    std::int32_t* to = line.sums.data();
    for (const TwoTaps& tap : columns) {
      const std::uint8_t* near = row + index(tap.near) * kChannels;
      const std::uint8_t* far = row + index(tap.far) * kChannels;
      for (int c = 0; c < kChannels; ++c) *to++ = near[c] * tap.weights[0] + far[c] * tap.weights[1];
    }
  };

  Image out(box.width, box.height);
  for (int y = 0; y < box.height; ++y) {
    const TwoTaps& tap = rows[index(y)];
    if (lines[1].source == tap.near) std::swap(lines[0], lines[1]);
    resample(lines[0], tap.near);
    resample(lines[1], tap.far);
    const std::int32_t* near = lines[0].sums.data();
    const std::int32_t* far = lines[1].sums.data();
    std::uint8_t* to = out.row(y);
    for (std::size_t x = 0; x < out.stride(); ++x) {
      const std::int32_t sum =
          ((tap.weights[0] * (near[x] >> 4)) >> 16) + ((tap.weights[1] * (far[x] >> 4)) >> 16);
      to[x] = static_cast<std::uint8_t>((sum + 2) >> 2);
    }
  }
  return out;
}

template <class Picture>
Picture part_of(const Picture& picture, const Box& box) {
  Picture out(box.width, box.height);
  for (int y = 0; y < box.height; ++y)
    std::copy_n(picture.row(box.top + y) + index(box.left) * Picture::kChannels, out.stride(), out.row(y));
  return out;
}

template <class Picture>
Picture part_with_border(Picture picture, const Box& box) {
  if (box.left == 0 && box.top == 0 && box.width == picture.width && box.height == picture.height)
    return picture;
  const int first = std::max(box.left, 0), end = std::min(box.left + box.width, picture.width);
  Picture out(box.width, box.height);
  for (int y = std::max(box.top, 0); y < std::min(box.top + box.height, picture.height) && first < end; ++y)
    std::copy(picture.row(y) + index(first) * Picture::kChannels,
              picture.row(y) + index(end) * Picture::kChannels,
              out.row(y - box.top) + index(first - box.left) * Picture::kChannels);
  return out;
}

template <class Picture>
Picture resize_nearest_of_opencv(const Picture& picture, int width, int height, const Box& box) {
  return take_nearest(picture, opencv_nearest_sources(picture.width, width, box.left, box.width),
                      opencv_nearest_sources(picture.height, height, box.top, box.height));
}

}  // namespace

void check_resize(int from_width, int from_height, int width, int height, const Box& box) {
  check(from_width > 0 && from_height > 0, "an empty picture cannot be resized");
  check(box.left >= 0 && box.top >= 0 && box.width > 0 && box.height > 0 && box.left <= width - box.width &&
            box.top <= height - box.height,
        "the part of a picture to compute is inside of it");
  if (std::max(width, height) > kMaxSide || std::int64_t{box.width} * box.height > kMaxImagePixels)
    fail("a picture of {}x{} would be {}x{} when resized, which is too large", from_width, from_height, width,
         height);
}

Box read_by_resize(int from_width, int from_height, int width, int height, const Box& box) {
  struct Range {
    int begin, length;
  };
  const auto along = [](int from, int to, int begin, int count) {
    const double scale = static_cast<double>(from) / to;
    const double margin = 2 * std::max(scale, 1.0) + 2;  // the widest filter, Pillow's bicubic, and roundings
    const int first = std::max(static_cast<int>(begin * scale - margin), 0);
    return Range{
        first,
        static_cast<int>(std::min((begin + count) * scale + margin, static_cast<double>(from))) - first};
  };
  const Range x = along(from_width, width, box.left, box.width);
  const Range y = along(from_height, height, box.top, box.height);
  return {x.begin, y.begin, x.length, y.length};
}

std::string_view name_of(Interpolation interpolation) {
  return kNames[static_cast<std::size_t>(interpolation)];
}

Interpolation parse_interpolation(std::string_view name, bool in_floats) {
  for (std::size_t i = 0; i < kNames.size(); ++i)
    if (kNames[i] == name && is_of_floats(static_cast<Interpolation>(i)) == in_floats)
      return static_cast<Interpolation>(i);
  fail("interpolation '{}' is not known; there are {}", name,
       in_floats ? "NEAREST, LINEAR, CUBIC, AREA, LANCZOS4 and RANDOM"
                 : "nearest, bilinear, bicubic and opencv");
}

Image crop(const Image& image, const Box& box) {
  return part_of(image, box);
}

Mask crop(const Mask& mask, const Box& box) {
  return part_of(mask, box);
}

Image crop_with_border(Image image, const Box& box) {
  return part_with_border(std::move(image), box);
}

Mask crop_with_border(Mask mask, const Box& box) {
  return part_with_border(std::move(mask), box);
}

Image resize(const Image& image, int width, int height, Interpolation interpolation) {
  return resize(image, width, height, interpolation, {0, 0, width, height});
}

Image resize(const Image& image, int width, int height, Interpolation interpolation, const Box& box) {
  check_resize(image.width, image.height, width, height, box);
  if (image.width == width && image.height == height) return crop(image, box);
  switch (interpolation) {
    case Interpolation::kNearest:
      return resize_nearest(image, width, height, box);
    case Interpolation::kBilinear:
      return resize_pillow(image, width, height, kPillowBilinear, box);
    case Interpolation::kBicubic:
      return resize_pillow(image, width, height, kPillowBicubic, box);
    case Interpolation::kOpenCV:
      return resize_opencv(image, width, height, box);
    default:
      check(false, "an interpolation in floats gives no picture of 8 bits");
  }
  return {};
}

Mask resize(const Mask& mask, int width, int height, Interpolation interpolation) {
  return resize(mask, width, height, interpolation, {0, 0, width, height});
}

Mask resize(const Mask& mask, int width, int height, Interpolation interpolation, const Box& box) {
  check_resize(mask.width, mask.height, width, height, box);
  const bool is_opencvs = interpolation == Interpolation::kOpenCV || is_of_floats(interpolation);
  return is_opencvs ? resize_nearest_of_opencv(mask, width, height, box)
                    : resize_nearest(mask, width, height, box);
}

Image resize_nearest_opencv(const Image& image, int width, int height, const Box& box) {
  return resize_nearest_of_opencv(image, width, height, box);
}

FloatImage resize_nearest_opencv(const FloatImage& image, int width, int height, const Box& box) {
  return resize_nearest_of_opencv(image, width, height, box);
}

}  // namespace octet
