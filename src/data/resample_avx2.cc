#include <algorithm>
#include <array>
#include <cstring>

#include "data/resample_loops.h"
#if defined(__x86_64__)
#include <immintrin.h>
#endif

// With products of 16 bits, two of which are added at once: a weight is a high part and 11 low bits.

namespace octet {

#if defined(__x86_64__)
namespace {

#define OCTET_AVX2 __attribute__((target("avx2")))

constexpr int kLowBits = kResampleBits / 2;
constexpr std::size_t kGroup = 4;   // taps
constexpr std::size_t kPixels = 2;  // in a vector: each has a word for each color, and one more
constexpr std::size_t kParts =
    4;  // of a group: of its first two taps the high parts and the low ones, of the others

std::size_t groups_of(const Taps::Span& span, std::size_t taps_at_once) {
  return (static_cast<std::size_t>(span.count) + taps_at_once - 1) / taps_at_once;
}

std::int32_t pair(std::int32_t first, std::int32_t second) {
  return static_cast<std::int32_t>((static_cast<std::uint32_t>(first) & 0xffff) |
                                   static_cast<std::uint32_t>(second) << 16);
}

// Of two weights from `tap` on, of which those behind the last one are 0, the high parts and the low ones.
std::array<std::int32_t, 2> split(std::span<const std::int32_t> weights, std::size_t tap) {
  const std::int32_t first = tap < weights.size() ? weights[tap] : 0;
  const std::int32_t second = tap + 1 < weights.size() ? weights[tap + 1] : 0;
  constexpr std::int32_t kMask = (1 << kLowBits) - 1;
  return {pair(first >> kLowBits, second >> kLowBits), pair(first & kMask, second & kMask)};
}

// For every two pixels the number of groups and where in the row each of the two begins, then the groups.
bool pack_columns(Taps& taps) {
  taps.packed.clear();
  for (std::size_t first = 0; first < taps.spans.size(); first += kPixels) {
    const Taps::Span pixels[kPixels] = {taps.spans[first],
                                        taps.spans[std::min(first + 1, taps.spans.size() - 1)]};
    const std::size_t groups = std::max(groups_of(pixels[0], kGroup), groups_of(pixels[1], kGroup));
    taps.packed.push_back(static_cast<std::int32_t>(groups));
    for (const Taps::Span& span : pixels) taps.packed.push_back(span.first * Image::kChannels);
    for (std::size_t group = 0; group < groups; ++group) {
      std::array<std::array<std::array<std::int32_t, kGroup>, kPixels>, kParts> parts;
      for (std::size_t i = 0; i < kPixels; ++i)
        for (std::size_t half = 0; half < 2; ++half) {
          const auto [high, low] = split(taps.of(pixels[i]), group * kGroup + 2 * half);
          parts[2 * half][i].fill(high);
          parts[2 * half + 1][i].fill(low);
        }
      const std::size_t at = taps.packed.size();
      taps.packed.resize(at + sizeof parts / sizeof(std::int32_t));
      std::memcpy(taps.packed.data() + at, &parts, sizeof parts);
    }
  }
  return true;
}

// For each output where its pairs of taps begin, then those: the high parts and the low ones.
bool pack_rows(Taps& taps) {
  taps.packed.assign(taps.spans.size(), 0);
  for (std::size_t i = 0; i < taps.spans.size(); ++i) {
    taps.packed[i] = static_cast<std::int32_t>(taps.packed.size());
    for (std::size_t tap = 0; tap < static_cast<std::size_t>(taps.spans[i].count); tap += 2) {
      const auto parts = split(taps.of(taps.spans[i]), tap);
      taps.packed.insert(taps.packed.end(), parts.begin(), parts.end());
    }
  }
  return true;
}

// Pixels, not rounded to bytes yet.
OCTET_AVX2 inline __m256i together(__m256i high, __m256i low) {
  const __m256i sum = _mm256_add_epi32(_mm256_slli_epi32(high, kLowBits), low);
  return _mm256_srai_epi32(_mm256_add_epi32(sum, _mm256_set1_epi32(kResampleHalf)), kResampleBits);
}

OCTET_AVX2 inline __m256i load(const void* from) {
  return _mm256_loadu_si256(static_cast<const __m256i*>(from));
}

// What is read beyond the last tap has no weight.
OCTET_AVX2 void resample_row(const std::uint8_t* row, const Taps& columns, std::uint8_t* to) {
  // Of four taps of three bytes the first two, and the others: pairs of each color, as words of 16 bits.
  const __m256i first_two =
      _mm256_broadcastsi128_si256(_mm_setr_epi8(0, -1, 3, -1, 1, -1, 4, -1, 2, -1, 5, -1, -1, -1, -1, -1));
  const __m256i last_two =
      _mm256_broadcastsi128_si256(_mm_setr_epi8(6, -1, 9, -1, 7, -1, 10, -1, 8, -1, 11, -1, -1, -1, -1, -1));
  constexpr std::size_t kWords = kPixels * kGroup;
  const std::int32_t* packed = columns.packed.data();
  for (std::size_t pixel = 0; pixel < columns.spans.size(); pixel += kPixels) {
    const std::uint8_t *left = row + packed[1], *right = row + packed[2];
    __m256i high = _mm256_setzero_si256(), low = high;
    std::int32_t groups = packed[0];
    packed += 3;
    for (; groups > 0; --groups, packed += kParts * kWords) {
      const __m256i bytes = _mm256_inserti128_si256(
          _mm256_castsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(left))),
          _mm_loadu_si128(reinterpret_cast<const __m128i*>(right)), 1);
      const __m256i first = _mm256_shuffle_epi8(bytes, first_two),
                    last = _mm256_shuffle_epi8(bytes, last_two);
      high = _mm256_add_epi32(high, _mm256_madd_epi16(first, load(packed)));
      low = _mm256_add_epi32(low, _mm256_madd_epi16(first, load(packed + kWords)));
      high = _mm256_add_epi32(high, _mm256_madd_epi16(last, load(packed + 2 * kWords)));
      low = _mm256_add_epi32(low, _mm256_madd_epi16(last, load(packed + 3 * kWords)));
      left += kGroup * Image::kChannels;
      right += kGroup * Image::kChannels;
    }
    __m256i sums = together(high, low);
    sums = _mm256_packs_epi32(sums, sums);
    sums = _mm256_packus_epi16(sums, sums);
    const int two[] = {_mm256_cvtsi256_si32(sums), _mm_cvtsi128_si32(_mm256_extracti128_si256(sums, 1))};
    for (int color : two) {
      std::memcpy(to, &color, sizeof color);  // one byte too many, which the next pixel overwrites
      to += Image::kChannels;
    }
  }
}

// 32 bytes of an output.
OCTET_AVX2 inline void resample_part(const std::uint8_t* lines, std::size_t stride,
                                     const std::int32_t* packed, std::size_t count, std::uint8_t* to) {
  const __m256i zero = _mm256_setzero_si256();
  __m256i high[4] = {zero, zero, zero, zero}, low[4] = {zero, zero, zero, zero};
  for (std::size_t tap = 0; tap < count; tap += 2, packed += 2) {
    const __m256i first = load(lines + stride * tap);
    const __m256i second = load(lines + stride * std::min(tap + 1, count - 1));
    const __m256i left = _mm256_unpacklo_epi8(first, second), right = _mm256_unpackhi_epi8(first, second);
    const __m256i words[4] = {_mm256_unpacklo_epi8(left, zero), _mm256_unpackhi_epi8(left, zero),
                              _mm256_unpacklo_epi8(right, zero), _mm256_unpackhi_epi8(right, zero)};
    const __m256i high_parts = _mm256_set1_epi32(packed[0]), low_parts = _mm256_set1_epi32(packed[1]);
    for (int i = 0; i < 4; ++i) {
      high[i] = _mm256_add_epi32(high[i], _mm256_madd_epi16(words[i], high_parts));
      low[i] = _mm256_add_epi32(low[i], _mm256_madd_epi16(words[i], low_parts));
    }
  }
  // Packing saturates, and undoes what unpacking did to the order.
  const __m256i left = _mm256_packs_epi32(together(high[0], low[0]), together(high[1], low[1]));
  const __m256i right = _mm256_packs_epi32(together(high[2], low[2]), together(high[3], low[3]));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm256_packus_epi16(left, right));
}

OCTET_AVX2 void resample_lines(const std::uint8_t* lines, std::size_t stride, const Taps& rows,
                               std::size_t which, std::uint8_t* to) {
  constexpr std::size_t kBytes = 32;
  const auto count = static_cast<std::size_t>(rows.spans[which].count);
  const std::int32_t* packed = rows.packed.data() + rows.packed[which];
  for (std::size_t x = 0; x < stride; x += kBytes) resample_part(lines + x, stride, packed, count, to + x);
}

}  // namespace

const ResampleLoops* resample_loops_avx2() {
  static constexpr ResampleLoops kLoops = {pack_columns, pack_rows, resample_row, resample_lines};
  return &kLoops;
}
#else
const ResampleLoops* resample_loops_avx2() {
  return nullptr;
}
#endif

}  // namespace octet
