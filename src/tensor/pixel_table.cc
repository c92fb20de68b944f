#include "tensor/pixel_table.h"

#include <cstring>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "base/cpu.h"
#include "base/error.h"

namespace octet {

namespace {

template <class T>
void look_up_planes(const PixelTable<T>& table, std::span<const std::uint8_t> pixels, std::span<T> to) {
  const std::size_t channels = table.size(), plane = to.size() / channels;
  for (std::size_t c = 0; c < channels; ++c) {
    const std::array<T, 256>& row = table[c];
    const std::uint8_t* from = pixels.data() + c;
    for (T& value : to.subspan(c * plane, plane)) {
      value = row[*from];
      from += channels;
    }
  }
}

void look_up_pixels(const PixelTable<std::int8_t>& table, const std::uint8_t* from, std::size_t count,
                    std::int8_t* to) {
  for (std::size_t pixel = 0; pixel < count; ++pixel)
    for (const std::array<std::int8_t, 256>& row : table) *to++ = row[*from++];
}

#if defined(__x86_64__)
#define OCTET_AVX512 __attribute__((target("avx512f,avx512bw,avx512vbmi")))

constexpr std::size_t kVector = 64, kColors = 3;

// A table of 256 bytes in four registers.
struct Rows {
  __m512i quarters[4];
};

OCTET_AVX512 inline __m512i look_up(const Rows& rows, __m512i bytes) {
  const __m512i lower = _mm512_permutex2var_epi8(rows.quarters[0], bytes, rows.quarters[1]);
  const __m512i upper = _mm512_permutex2var_epi8(rows.quarters[2], bytes, rows.quarters[3]);
  return _mm512_mask_mov_epi8(lower, _mm512_movepi8_mask(bytes), upper);
}

// Three vectors of pixels of three channels at a time; returns how many pixels that were.
OCTET_AVX512 std::size_t look_up_colors(const PixelTable<std::int8_t>& table, const std::uint8_t* from,
                                        std::size_t count, std::int8_t* to) {
  Rows rows[kColors];
  for (std::size_t c = 0; c < kColors; ++c)
    for (std::size_t i = 0; i < 4; ++i)
      rows[c].quarters[i] = _mm512_loadu_si512(table[c].data() + i * kVector);
  // Of the first vector, the bytes of each channel; a vector begins one channel later than the one before.
  __mmask64 of_channel[kColors] = {};
  for (std::size_t i = 0; i < kVector; ++i) of_channel[i % kColors] |= __mmask64{1} << i;
  std::size_t done = 0;
  for (; done + kVector <= count; done += kVector)
    for (std::size_t vector = 0; vector < kColors; ++vector, from += kVector, to += kVector) {
      const __m512i bytes = _mm512_loadu_si512(from);
      __m512i result = look_up(rows[0], bytes);
      for (std::size_t c = 1; c < kColors; ++c)
        result =
            _mm512_mask_mov_epi8(result, of_channel[(c + kColors - vector * kVector % kColors) % kColors],
                                 look_up(rows[c], bytes));
      _mm512_storeu_si512(to, result);
    }
  return done;
}

bool has_vectors() {
  static const bool has = cpu_info().has("avx512bw") && cpu_info().has("avx512vbmi");
  return has;
}
#else
constexpr std::size_t kColors = 3;

std::size_t look_up_colors(const PixelTable<std::int8_t>&, const std::uint8_t*, std::size_t, std::int8_t*) {
  return 0;
}

bool has_vectors() {
  return false;
}
#endif

}  // namespace

void look_up(const PixelIntegers& integers, std::span<const std::uint8_t> pixels, std::span<std::int8_t> to) {
  const PixelTable<std::int8_t>& table = integers.table;
  check(!table.empty() && pixels.size() % table.size() == 0 && to.size() == pixels.size(),
        "there is a row for each channel, and a place for each integer");
  if (integers.to_planes && table.size() > 1) return look_up_planes(table, pixels, to);
  const std::size_t count = pixels.size() / table.size();
  const std::size_t done =
      table.size() == kColors && has_vectors() ? look_up_colors(table, pixels.data(), count, to.data()) : 0;
  look_up_pixels(table, pixels.data() + done * table.size(), count - done, to.data() + done * table.size());
}

void look_up(const PixelValues& values, std::span<const std::uint8_t> pixels, std::span<float> to) {
  check(!values.empty() && pixels.size() % values.size() == 0 && to.size() == pixels.size(),
        "there is a row for each channel, and a place for each value");
  look_up_planes(values, pixels, to);
}

}  // namespace octet
