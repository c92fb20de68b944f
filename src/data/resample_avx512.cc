#include <algorithm>
#include <array>
#include <cstring>

#include "data/resample_loops.h"
#if defined(__x86_64__)
#include <immintrin.h>
#endif

// With the 8-bit dot product, which sums four taps at once: a weight is three signed digits to the base 256.

namespace octet {

#if defined(__x86_64__)
namespace {

#define OCTET_AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx512vbmi,avx512vnni")))

constexpr std::size_t kDigits = 3, kBase = 8;  // in bits
constexpr std::size_t kGroup = 4;              // taps
constexpr std::size_t kPixels = 4;             // in a vector: each has a word for each color, and one more
constexpr std::size_t kVector = 64, kWords = kVector / 4;

std::size_t groups_of(const Taps::Span& span) {
  return (static_cast<std::size_t>(span.count) + kGroup - 1) / kGroup;
}

// Of up to four weights the first digits, as the bytes of a word, then the others. False: a weight is too
// large.
bool split(std::span<const std::int32_t> weights, std::array<std::int32_t, kDigits>& words) {
  std::array<std::uint32_t, kDigits> bytes{};
  for (std::size_t i = 0; i < weights.size(); ++i) {
    std::int32_t rest = weights[i];
    for (std::uint32_t& word : bytes) {
      const auto digit = static_cast<std::int8_t>(rest & 255);
      word |= std::uint32_t{static_cast<std::uint8_t>(digit)} << (8 * i);
      rest = (rest - digit) >> kBase;
    }
    if (rest != 0) return false;
  }
  for (std::size_t d = 0; d < kDigits; ++d) words[d] = static_cast<std::int32_t>(bytes[d]);
  return true;
}

std::span<const std::int32_t> weights_of(const Taps& taps, const Taps::Span& span, std::size_t group) {
  const std::span<const std::int32_t> all = taps.of(span);
  return all.subspan(group * kGroup, std::min(kGroup, all.size() - group * kGroup));
}

// A group of taps of four pixels: which 64 bytes of the row hold them all, which of those each byte of the
// vector is, and the weights.
struct ColumnGroup {
  std::int32_t begin = 0;
  std::array<std::uint8_t, kVector> bytes{};
  std::array<std::array<std::int32_t, kWords>, kDigits> weights{};
};
static_assert(sizeof(ColumnGroup) % sizeof(std::int32_t) == 0);
constexpr std::size_t kGroupSize = sizeof(ColumnGroup) / sizeof(std::int32_t);

bool pack_group(const Taps& taps, std::span<const Taps::Span> pixels, std::size_t group, ColumnGroup& to) {
  const int skipped = static_cast<int>(group * kGroup);
  int begin = INT32_MAX, end = 0;  // of what the pixels read
  for (const Taps::Span& span : pixels) {
    if (span.count <= skipped) continue;
    begin = std::min(begin, span.first + skipped);
    end = std::max(end, span.first + skipped + static_cast<int>(kGroup));
  }
  constexpr int kChannels = Image::kChannels;
  if ((end - begin) * kChannels > static_cast<int>(kVector)) return false;
  to.begin = begin * kChannels;
  for (std::size_t i = 0; i < pixels.size(); ++i) {
    if (pixels[i].count <= skipped) continue;
    std::array<std::int32_t, kDigits> digits;
    if (!split(weights_of(taps, pixels[i], group), digits)) return false;
    const int at = (pixels[i].first + skipped - begin) * kChannels;
    for (std::size_t c = 0; c < Image::kChannels; ++c) {
      const std::size_t word = i * kGroup + c;
      for (std::size_t tap = 0; tap < kGroup; ++tap)
        to.bytes[4 * word + tap] =
            static_cast<std::uint8_t>(at + static_cast<int>(tap) * kChannels + static_cast<int>(c));
      for (std::size_t d = 0; d < kDigits; ++d) to.weights[d][word] = digits[d];
    }
  }
  return true;
}

// For every four pixels the number of groups, and those.
bool pack_columns(Taps& taps) {
  taps.packed.clear();
  const std::span<const Taps::Span> all = taps.spans;
  for (std::size_t first = 0; first < all.size(); first += kPixels) {
    const auto pixels = all.subspan(first, std::min(kPixels, all.size() - first));
    std::size_t groups = 0;
    for (const Taps::Span& span : pixels) groups = std::max(groups, groups_of(span));
    taps.packed.push_back(static_cast<std::int32_t>(groups));
    for (std::size_t group = 0; group < groups; ++group) {
      ColumnGroup packed;
      if (!pack_group(taps, pixels, group, packed)) return false;
      taps.packed.resize(taps.packed.size() + kGroupSize);
      std::memcpy(&*taps.packed.end() - kGroupSize, &packed, sizeof packed);
    }
  }
  return true;
}

// For each output where its groups begin, then those: the digits of four weights each.
bool pack_rows(Taps& taps) {
  taps.packed.assign(taps.spans.size(), 0);
  for (std::size_t i = 0; i < taps.spans.size(); ++i) {
    taps.packed[i] = static_cast<std::int32_t>(taps.packed.size());
    for (std::size_t group = 0; group < groups_of(taps.spans[i]); ++group) {
      std::array<std::int32_t, kDigits> digits;
      if (!split(weights_of(taps, taps.spans[i], group), digits)) return false;
      taps.packed.insert(taps.packed.end(), digits.begin(), digits.end());
    }
  }
  return true;
}

struct Sums {
  __m512i digits[kDigits];
};

OCTET_AVX512 inline Sums no_sums() {
  return {{_mm512_set1_epi32(kResampleHalf), _mm512_setzero_si512(), _mm512_setzero_si512()}};
}

// Pixels, not rounded to bytes yet.
OCTET_AVX512 inline __m512i together(const Sums& sums) {
  const __m512i upper = _mm512_add_epi32(_mm512_slli_epi32(sums.digits[1], kBase),
                                         _mm512_slli_epi32(sums.digits[2], 2 * kBase));
  return _mm512_srai_epi32(_mm512_add_epi32(sums.digits[0], upper), kResampleBits);
}

OCTET_AVX512 void resample_row(const std::uint8_t* row, const Taps& columns, std::uint8_t* to) {
  const __m128i without_fourth = _mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1);
  const std::int32_t* packed = columns.packed.data();
  for (std::size_t first = 0; first < columns.spans.size(); first += kPixels) {
    Sums sums = no_sums();
    for (std::int32_t groups = *packed++; groups > 0; --groups, packed += kGroupSize) {
      const __m512i from = _mm512_loadu_si512(row + packed[0]);
      const __m512i bytes = _mm512_permutexvar_epi8(_mm512_loadu_si512(packed + 1), from);
      for (std::size_t d = 0; d < kDigits; ++d)
        sums.digits[d] =
            _mm512_dpbusd_epi32(sums.digits[d], bytes, _mm512_loadu_si512(packed + 1 + kWords * (d + 1)));
    }
    const __m512i pixels = _mm512_max_epi32(together(sums), _mm512_setzero_si512());
    const __m128i four = _mm512_cvtusepi32_epi8(pixels);
    // What is too much belongs to the pixels that follow, or is overwritten by them.
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm_shuffle_epi8(four, without_fourth));
    to += kPixels * Image::kChannels;
  }
}

OCTET_AVX512 void resample_lines(const std::uint8_t* lines, std::size_t stride, const Taps& rows,
                                 std::size_t which, std::uint8_t* to) {
  const Taps::Span& span = rows.spans[which];
  const std::int32_t* packed = rows.packed.data() + rows.packed[which];
  const std::size_t groups = groups_of(span), last = static_cast<std::size_t>(span.count) - 1;
  for (std::size_t x = 0; x < stride; x += kVector) {
    const __mmask64 here = stride - x < kVector ? (__mmask64{1} << (stride - x)) - 1 : ~__mmask64{0};
    Sums sums[kGroup] = {no_sums(), no_sums(), no_sums(), no_sums()};
    for (std::size_t group = 0; group < groups; ++group) {
      __m512i line[kGroup];  // what comes after the last one has no weight
      for (std::size_t i = 0; i < kGroup; ++i)
        line[i] = _mm512_maskz_loadu_epi8(here, lines + stride * std::min(group * kGroup + i, last) + x);
      const __m512i low01 = _mm512_unpacklo_epi8(line[0], line[1]),
                    low23 = _mm512_unpacklo_epi8(line[2], line[3]);
      const __m512i high01 = _mm512_unpackhi_epi8(line[0], line[1]),
                    high23 = _mm512_unpackhi_epi8(line[2], line[3]);
      const __m512i columns[kGroup] = {
          _mm512_unpacklo_epi16(low01, low23), _mm512_unpackhi_epi16(low01, low23),
          _mm512_unpacklo_epi16(high01, high23), _mm512_unpackhi_epi16(high01, high23)};
      for (std::size_t d = 0; d < kDigits; ++d) {
        const __m512i weights = _mm512_set1_epi32(packed[group * kDigits + d]);
        for (std::size_t i = 0; i < kGroup; ++i)
          sums[i].digits[d] = _mm512_dpbusd_epi32(sums[i].digits[d], columns[i], weights);
      }
    }
    // Packing saturates, and undoes what unpacking did to the order.
    const __m512i low = _mm512_packs_epi32(together(sums[0]), together(sums[1]));
    const __m512i high = _mm512_packs_epi32(together(sums[2]), together(sums[3]));
    _mm512_mask_storeu_epi8(to + x, here, _mm512_packus_epi16(low, high));
  }
}

}  // namespace

const ResampleLoops* resample_loops_avx512() {
  static constexpr ResampleLoops kLoops = {pack_columns, pack_rows, resample_row, resample_lines};
  return &kLoops;
}
#else
const ResampleLoops* resample_loops_avx512() {
  return nullptr;
}
#endif

}  // namespace octet
