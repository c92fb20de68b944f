#include "data/resample_pillow.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "base/cpu.h"

// Pillow (https://pillow.readthedocs.io, "Filters"): separable convolution; weights in fixed point with 22
// fraction bits; along x first, rounded to 8 bits, then along y. Reproduced to the bit.

namespace octet {

namespace {

constexpr int kBits = 22;
constexpr int kLowBits = kBits / 2;
constexpr std::int32_t kHalf = 1 << (kBits - 1);

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

// For each of some outputs along one axis: which inputs it sums, and with what weights.
struct Taps {
  struct Span {
    int first;
    int count;
    std::size_t weights;  // where its weights begin
  };
  std::vector<Span> spans;
  std::vector<std::int32_t> weights;
  // The same for products of 16 bits, span after span: of every four weights, which are filled up with zeros,
  // the high parts of the first two and of the others, and the low parts likewise.
  std::vector<std::int32_t> split;
};

std::vector<std::int32_t> split_weights(const Taps& taps) {
  std::vector<std::int32_t> split;
  for (const Taps::Span& span : taps.spans) {
    for (int i = 0; i < span.count; i += 4) {
      std::array<std::int32_t, 4> four{};
      std::copy_n(taps.weights.data() + span.weights + index(i), std::min(4, span.count - i), four.begin());
      const auto pair = [](std::int32_t first, std::int32_t second) {
        return static_cast<std::int32_t>((static_cast<std::uint32_t>(first) & 0xffff) |
                                         static_cast<std::uint32_t>(second) << 16);
      };
      const auto high = [&](std::size_t k) { return four[k] >> kLowBits; };
      const auto low = [&](std::size_t k) { return four[k] & ((1 << kLowBits) - 1); };
      split.insert(split.end(), {pair(high(0), high(1)), pair(high(2), high(3)), pair(low(0), low(1)),
                                 pair(low(2), low(3))});
    }
  }
  return split;
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
      taps.weights.push_back(static_cast<std::int32_t>(weight * (1 << kBits) + (weight < 0 ? -0.5 : 0.5)));
    }
  }
  return taps;
}

std::uint8_t round_sum(std::int32_t sum) {
  return static_cast<std::uint8_t>(std::clamp(sum >> kBits, 0, 255));
}

// A pass along x makes a line of each row, one along y an output of some lines, which lie `stride` bytes
// apart. Up to kOverrun bytes behind a row, and up to kOverwrite behind a line, may be read or written as
// well.
constexpr std::size_t kOverrun = 16, kOverwrite = 8;
struct Loops {
  void (*row)(const std::uint8_t* row, const Taps& taps, std::uint8_t* to);
  void (*lines)(const std::uint8_t* lines, std::size_t stride, const std::int32_t* weights, int count,
                std::uint8_t* to);
};

void resample_row(const std::uint8_t* row, const Taps& taps, std::uint8_t* to) {
  for (const Taps::Span& span : taps.spans) {
    const std::uint8_t* from = row + index(span.first) * Image::kChannels;
    const std::int32_t* weights = taps.weights.data() + span.weights;
    std::int32_t r = kHalf, g = kHalf, b = kHalf;
    for (int i = 0; i < span.count; ++i, from += Image::kChannels) {
      r += from[0] * weights[i];
      g += from[1] * weights[i];
      b += from[2] * weights[i];
    }
    *to++ = round_sum(r);
    *to++ = round_sum(g);
    *to++ = round_sum(b);
  }
}

void resample_lines(const std::uint8_t* lines, std::size_t stride, const std::int32_t* weights, int count,
                    std::uint8_t* to) {
  constexpr std::size_t kBlock = 64;  // sums that stay in registers or near them
  for (std::size_t begin = 0; begin < stride; begin += kBlock) {
    const std::size_t size = std::min(kBlock, stride - begin);
    std::array<std::int32_t, kBlock> sums;
    sums.fill(kHalf);
    for (int i = 0; i < count; ++i) {
      const std::uint8_t* from = lines + begin + stride * index(i);
      for (std::size_t x = 0; x < size; ++x) sums[x] += from[x] * weights[i];
    }
    std::transform(sums.begin(), sums.begin() + static_cast<std::ptrdiff_t>(size), to + begin, round_sum);
  }
}

constexpr Loops kPortable = {resample_row, resample_lines};

#if defined(__x86_64__)
#define OCTET_AVX2 __attribute__((target("avx2")))

// Eight sums to bytes; packing saturates.
OCTET_AVX2 inline void store(__m256i sums, std::uint8_t* to) {
  sums = _mm256_srai_epi32(sums, kBits);
  const __m128i words = _mm_packs_epi32(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1));
  _mm_storel_epi64(reinterpret_cast<__m128i*>(to), _mm_packus_epi16(words, words));
}

// Four pixels at a time, of which products of 16 bits take two: weights are split into a high part and 11 low
// bits. What is read beyond the last pixel has no weight.
OCTET_AVX2 void resample_row_avx2(const std::uint8_t* row, const Taps& taps, std::uint8_t* to) {
  // Bytes 0 to 5 are two pixels, 6 to 11 two more: pairs of each color, as words.
  const __m256i pairs = _mm256_setr_epi8(0, -1, 3, -1, 1, -1, 4, -1, 2, -1, 5, -1, -1, -1, -1, -1,  //
                                         6, -1, 9, -1, 7, -1, 10, -1, 8, -1, 11, -1, -1, -1, -1, -1);
  const __m256i high_at = _mm256_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1);
  const __m256i low_at = _mm256_setr_epi32(2, 2, 2, 2, 3, 3, 3, 3);
  const std::int32_t* weights = taps.split.data();
  for (const Taps::Span& span : taps.spans) {
    const std::uint8_t* from = row + index(span.first) * Image::kChannels;
    __m256i high = _mm256_setzero_si256(), low = high;
    for (int i = 0; i < span.count; i += 4, from += 4 * Image::kChannels, weights += 4) {
      const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
      const __m256i pixels = _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(bytes), pairs);
      const __m256i both = _mm256_castsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(weights)));
      high = _mm256_add_epi32(high, _mm256_madd_epi16(pixels, _mm256_permutevar8x32_epi32(both, high_at)));
      low = _mm256_add_epi32(low, _mm256_madd_epi16(pixels, _mm256_permutevar8x32_epi32(both, low_at)));
    }
    const __m256i parts = _mm256_add_epi32(_mm256_slli_epi32(high, kLowBits), low);
    __m128i sum = _mm_add_epi32(_mm256_castsi256_si128(parts), _mm256_extracti128_si256(parts, 1));
    sum = _mm_srai_epi32(_mm_add_epi32(sum, _mm_set1_epi32(kHalf)), kBits);
    sum = _mm_packs_epi32(sum, sum);
    const int pixel = _mm_cvtsi128_si32(_mm_packus_epi16(sum, sum));
    std::memcpy(to, &pixel, sizeof pixel);  // one byte too many, which the next pixel overwrites
    to += Image::kChannels;
  }
}

OCTET_AVX2 void resample_lines_avx2(const std::uint8_t* lines, std::size_t stride,
                                    const std::int32_t* weights, int count, std::uint8_t* to) {
  for (std::size_t x = 0; x < stride; x += 8) {
    const std::uint8_t* from = lines + x;
    __m256i sums = _mm256_set1_epi32(kHalf);
    for (int i = 0; i < count; ++i, from += stride) {
      const __m256i bytes = _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from)));
      sums = _mm256_add_epi32(sums, _mm256_mullo_epi32(bytes, _mm256_set1_epi32(weights[i])));
    }
    store(sums, to + x);
  }
}

const Loops& best_loops() {
  static const Loops best =
      cpu_info().has("avx2") ? Loops{resample_row_avx2, resample_lines_avx2} : kPortable;
  return best;
}
#else
const Loops& best_loops() {
  return kPortable;
}
#endif

}  // namespace

const PillowFilter kPillowBilinear = {1.0, bilinear_weight}, kPillowBicubic = {2.0, bicubic_weight};

// Pillow skips the pass along an axis that keeps its size; here its weights come out as 1 and 0, which is the
// same.
Image resize_pillow(const Image& image, int width, int height, const PillowFilter& filter, const Box& box,
                    bool may_use_vectors) {
  const Loops& loops = may_use_vectors ? best_loops() : kPortable;
  Taps x = make_taps(image.width, width, box.left, box.width, filter);
  x.split = split_weights(x);
  const Taps y = make_taps(image.height, height, box.top, box.height, filter);
  const int first_row = y.spans.front().first;
  const int rows = y.spans.back().first + y.spans.back().count - first_row;

  const std::size_t stride = index(box.width) * Image::kChannels;
  std::vector<std::uint8_t> lines(stride * index(rows) + kOverwrite), last_row;
  for (int i = 0; i < rows; ++i) {
    const std::uint8_t* row = image.row(first_row + i);
    if (image.stride() * index(image.height - first_row - i - 1) < kOverrun) {
      last_row.assign(row, row + image.stride());
      last_row.resize(image.stride() + kOverrun);
      row = last_row.data();
    }
    loops.row(row, x, lines.data() + stride * index(i));
  }

  Image out(box.width, box.height);
  std::vector<std::uint8_t> line(stride + kOverwrite);
  for (int i = 0; i < box.height; ++i) {
    const Taps::Span& span = y.spans[index(i)];
    loops.lines(lines.data() + stride * index(span.first - first_row), stride,
                y.weights.data() + span.weights, span.count, line.data());
    std::copy_n(line.data(), stride, out.row(i));
  }
  return out;
}

}  // namespace octet
