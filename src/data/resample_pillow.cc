#include "data/resample_pillow.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <string_view>

#include "base/cpu.h"

// Pillow (https://pillow.readthedocs.io, "Filters"): separable convolution; weights in fixed point with 22
// fraction bits; along x first, rounded to 8 bits, then along y. Reproduced to the bit.

namespace octet {

namespace {

std::size_t index(int i) {
  return static_cast<std::size_t>(i);
}

double bilinear_weight(double x) {
  return std::max(0.0, 1.0 - std::fabs(x));
}

// Keys' cubic convolution with a = -0.5.
double bicubic_weight(double x) {
  constexpr double a = -0.5;
  x = std::fabs(x);
  if (x < 1.0) return ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0;
  if (x < 2.0) return (((x - 5.0) * x + 8.0) * x - 4.0) * a;
  return 0.0;
}

// For the outputs [begin, begin + count) of `out_size`.
Taps make_taps(int in_size, int out_size, int begin, int count, const PillowFilter& filter) {
  const double scale = static_cast<double>(in_size) / out_size;
  const double stretch = std::max(scale, 1.0);
  const double support = filter.support * stretch;
  const double shrink = 1.0 / stretch;
  Taps taps;
  taps.spans.reserve(index(count));
  std::vector<double> weights;
  for (int i = begin; i < begin + count; ++i) {
    const double center = (i + 0.5) * scale;
    const int first = std::max(static_cast<int>(center - support + 0.5), 0);
    const int end = std::min(static_cast<int>(center + support + 0.5), in_size);
    weights.clear();
    double sum = 0.0;
    for (int x = first; x < end; ++x) {
      weights.push_back(filter.weight((x - center + 0.5) * shrink));
      sum += weights.back();
    }
    taps.spans.push_back({first, end - first, taps.weights.size()});
    for (double weight : weights) {
      if (sum != 0.0) weight /= sum;
      taps.weights.push_back(
          static_cast<std::int32_t>(weight * (1 << kResampleBits) + (weight < 0 ? -0.5 : 0.5)));
    }
  }
  return taps;
}

std::uint8_t round_sum(std::int32_t sum) {
  return static_cast<std::uint8_t>(std::clamp(sum >> kResampleBits, 0, 255));
}

bool pack_nothing(Taps&) {
  return true;
}

void resample_row(const std::uint8_t* row, const Taps& columns, std::uint8_t* to) {
  for (const Taps::Span& span : columns.spans) {
    const std::uint8_t* from = row + index(span.first) * Image::kChannels;
    std::int32_t r = kResampleHalf, g = kResampleHalf, b = kResampleHalf;
    for (std::int32_t weight : columns.of(span)) {
      r += from[0] * weight;
      g += from[1] * weight;
      b += from[2] * weight;
      from += Image::kChannels;
    }
    *to++ = round_sum(r);
    *to++ = round_sum(g);
    *to++ = round_sum(b);
  }
}

void resample_lines(const std::uint8_t* lines, std::size_t stride, const Taps& rows, std::size_t which,
                    std::uint8_t* to) {
  constexpr std::size_t kBlock = 64;  // sums that stay in registers or near them
  for (std::size_t begin = 0; begin < stride; begin += kBlock) {
    const std::size_t size = std::min(kBlock, stride - begin);
    std::array<std::int32_t, kBlock> sums;
    sums.fill(kResampleHalf);
    const std::uint8_t* from = lines + begin;
    for (std::int32_t weight : rows.of(rows.spans[which])) {
      for (std::size_t x = 0; x < size; ++x) sums[x] += from[x] * weight;
      from += stride;
    }
    std::transform(sums.begin(), sums.begin() + static_cast<std::ptrdiff_t>(size), to + begin, round_sum);
  }
}

constexpr ResampleLoops kPortable = {pack_nothing, pack_nothing, resample_row, resample_lines};

// The first ones that can do it.
const ResampleLoops& choose(std::span<const ResampleLoops* const> loops, bool (*ResampleLoops::*pack)(Taps&),
                            Taps& taps) {
  for (const ResampleLoops* candidate : loops)
    if ((candidate->*pack)(taps)) return *candidate;
  return kPortable;
}

}  // namespace

std::span<const ResampleLoops* const> resample_loops() {
  static const std::vector<const ResampleLoops*> all = [] {
    std::vector<const ResampleLoops*> found;
    const auto has = [](std::string_view feature) { return cpu_info().has(feature); };
    if (resample_loops_avx512() && has("avx512vbmi") && has("avx512vnni"))
      found.push_back(resample_loops_avx512());
    if (resample_loops_avx2() && has("avx2")) found.push_back(resample_loops_avx2());
    found.push_back(&kPortable);
    return found;
  }();
  return all;
}

const PillowFilter kPillowBilinear = {1.0, bilinear_weight}, kPillowBicubic = {2.0, bicubic_weight};

// Pillow skips the pass along an axis that keeps its size; here its weights come out as 1 and 0, which is the
// same.
Image resize_pillow(const Image& image, int width, int height, const PillowFilter& filter, const Box& box,
                    std::span<const ResampleLoops* const> loops) {
  constexpr std::size_t kOverrun = ResampleLoops::kOverrun, kOverwrite = ResampleLoops::kOverwrite;
  Taps x = make_taps(image.width, width, box.left, box.width, filter);
  Taps y = make_taps(image.height, height, box.top, box.height, filter);
  const ResampleLoops& along_x = choose(loops, &ResampleLoops::pack_columns, x);
  const ResampleLoops& along_y = choose(loops, &ResampleLoops::pack_rows, y);
  const int first_row = y.spans.front().first;
  const int rows = y.spans.back().first + y.spans.back().count - first_row;

  const std::size_t stride = index(box.width) * Image::kChannels;
  const auto lines = std::make_unique_for_overwrite<std::uint8_t[]>(stride * index(rows) + kOverwrite);
  std::vector<std::uint8_t> last_row;
  for (int i = 0; i < rows; ++i) {
    const std::uint8_t* row = image.row(first_row + i);
    if (image.stride() * index(image.height - first_row - i - 1) < kOverrun) {
      last_row.assign(row, row + image.stride());
      last_row.resize(image.stride() + kOverrun);
      row = last_row.data();
    }
    along_x.row(row, x, lines.get() + stride * index(i));
  }

  Image out(box.width, box.height);
  std::vector<std::uint8_t> last_line(stride + kOverwrite);
  for (int i = 0; i < box.height; ++i) {
    const bool has_room = stride * index(box.height - i - 1) >= kOverwrite;
    along_y.lines(lines.get() + stride * index(y.spans[index(i)].first - first_row), stride, y, index(i),
                  has_room ? out.row(i) : last_line.data());
    if (!has_room) std::copy_n(last_line.data(), stride, out.row(i));
  }
  return out;
}

}  // namespace octet
