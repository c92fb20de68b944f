#include "kernels/simd/int8_finish.h"
#include "kernels/simd/int8_parts.h"

// Depthwise convolution: a lane is a channel. Bytes of two taps are interleaved, so that one instruction
// makes the products of both and adds them in 16 bits. Interleaving works inside of 16-byte lanes; what it
// does to the order of channels is undone when the results are packed to bytes.
namespace octet::simd::OCTET_SIMD {
namespace {

constexpr int kBytes = 4 * kLanes;  // channels in a block

// The sums of a block in 32 bits, and below partial ones in 16 bits (Words).
struct Sums {
  Ints v[4];
};

#if defined(__AVX2__)

struct Words {
  Ints low, high;
};

#if defined(__AVX512F__)
inline Ints low_bytes(Ints a, Ints b) {
  return _mm512_unpacklo_epi8(a, b);
}
inline Ints high_bytes(Ints a, Ints b) {
  return _mm512_unpackhi_epi8(a, b);
}
inline Ints low_words(Ints a, Ints b) {
  return _mm512_unpacklo_epi16(a, b);
}
inline Ints high_words(Ints a, Ints b) {
  return _mm512_unpackhi_epi16(a, b);
}
#else
inline Ints low_bytes(Ints a, Ints b) {
  return _mm256_unpacklo_epi8(a, b);
}
inline Ints high_bytes(Ints a, Ints b) {
  return _mm256_unpackhi_epi8(a, b);
}
inline Ints low_words(Ints a, Ints b) {
  return _mm256_unpacklo_epi16(a, b);
}
inline Ints high_words(Ints a, Ints b) {
  return _mm256_unpackhi_epi16(a, b);
}
#endif

inline Words zero_words() {
  return {all(0), all(0)};
}

// The products of a pair of taps. kShift: `shift` is added to the bytes of the left side.
template <bool kShift>
inline Words products(const std::int8_t* one, const std::int8_t* two, const std::int8_t* weights,
                      Ints shift) {
  Ints a = load_bytes(one), b = load_bytes(two);
  if constexpr (kShift) {
    a = add_bytes(a, shift);
    b = add_bytes(b, shift);
  }
  return {pairs_of_bytes(low_bytes(a, b), load_bytes(weights)),
          pairs_of_bytes(high_bytes(a, b), load_bytes(weights + kBytes))};
}
inline Words add(Words a, Words b) {
  return {add_words(a.low, b.low), add_words(a.high, b.high)};
}
// sums + a + b
inline Sums widen(Sums sums, Words a, Words b) {
  Ints ones = ones_of_words();
  return {{add(sums.v[0], pairs_of_words(low_words(a.low, b.low), ones)),
           add(sums.v[1], pairs_of_words(high_words(a.low, b.low), ones)),
           add(sums.v[2], pairs_of_words(low_words(a.high, b.high), ones)),
           add(sums.v[3], pairs_of_words(high_words(a.high, b.high), ones))}};
}

// The same for all operands: the bytes of the left side become the high halves of 16 bits.
constexpr int kWideShift = 8;  // so sums are 2^kWideShift times as large
inline Sums add_wide(Sums sums, const std::int8_t* one, const std::int8_t* two, const std::int8_t* weights) {
  Ints a = load_bytes(one), b = load_bytes(two), zero = all(0);
  Ints low = low_bytes(a, b), high = high_bytes(a, b);
  auto sum = [&](int v, Ints left) {
    return add(sums.v[v], pairs_of_words(left, load_bytes(weights + v * kBytes)));
  };
  return {{sum(0, low_bytes(zero, low)), sum(1, high_bytes(zero, low)), sum(2, low_bytes(zero, high)),
           sum(3, high_bytes(zero, high))}};
}

// Channel 16 * l + 4 * v + i is in element i of the 16-byte lane l of vector v; its weights are likewise in
// one of two vectors of 8 pairs a lane.
inline std::int64_t sum_place(std::int64_t channel) {
  return channel % 16 / 4 * kLanes + channel / 16 * 4 + channel % 4;
}
inline std::int64_t weight_place(std::int64_t channel) {
  return channel % 16 / 8 * 2 * kLanes + channel / 16 * 8 + channel % 8;
}

inline void store_in_order(std::int32_t* to, Sums sums) {
  alignas(64) std::int32_t lanes[kBytes];
  for (int v = 0; v < 4; ++v) store(lanes + v * kLanes, sums.v[v]);
  for (int l = 0; l < kLanes / 4; ++l)
    for (int v = 0; v < 4; ++v)
      _mm_storeu_si128(reinterpret_cast<__m128i*>(to + 16 * l + 4 * v),
                       _mm_load_si128(reinterpret_cast<const __m128i*>(lanes + v * kLanes + 4 * l)));
}

inline void store_block(std::int8_t* to, Sums sums, std::int8_t low) {
#if defined(__AVX512F__)
  Ints bytes =
      _mm512_packs_epi16(_mm512_packs_epi32(sums.v[0], sums.v[1]), _mm512_packs_epi32(sums.v[2], sums.v[3]));
  _mm512_storeu_si512(to, _mm512_max_epi8(bytes, all_bytes(low)));
#else
  Ints bytes =
      _mm256_packs_epi16(_mm256_packs_epi32(sums.v[0], sums.v[1]), _mm256_packs_epi32(sums.v[2], sums.v[3]));
  _mm256_storeu_si256(reinterpret_cast<Ints*>(to), _mm256_max_epi8(bytes, all_bytes(low)));
#endif
}

#else

struct Words {
  int16x8_t low, high;
};

inline Words zero_words() {
  return {vdupq_n_s16(0), vdupq_n_s16(0)};
}
template <bool kShift>
inline Words products(const std::int8_t* one, const std::int8_t* two, const std::int8_t* weights, Ints) {
  int8x16_t a = vld1q_s8(one), b = vld1q_s8(two);
  int8x16x2_t w = vld2q_s8(weights);
  return {vmlal_s8(vmull_s8(vget_low_s8(a), vget_low_s8(w.val[0])), vget_low_s8(b), vget_low_s8(w.val[1])),
          vmlal_high_s8(vmull_high_s8(a, w.val[0]), b, w.val[1])};
}
inline Words add(Words a, Words b) {
  return {vaddq_s16(a.low, b.low), vaddq_s16(a.high, b.high)};
}
inline Sums widen(Sums sums, Words a, Words b) {
  return {{vaddw_s16(vaddw_s16(sums.v[0], vget_low_s16(a.low)), vget_low_s16(b.low)),
           vaddw_high_s16(vaddw_high_s16(sums.v[1], a.low), b.low),
           vaddw_s16(vaddw_s16(sums.v[2], vget_low_s16(a.high)), vget_low_s16(b.high)),
           vaddw_high_s16(vaddw_high_s16(sums.v[3], a.high), b.high)}};
}

constexpr int kWideShift = 0;
inline Sums add_wide(Sums sums, const std::int8_t* one, const std::int8_t* two, const std::int8_t* weights) {
  const auto* words = reinterpret_cast<const std::int16_t*>(weights);
  int16x8x2_t low = vld2q_s16(words), high = vld2q_s16(words + kBytes);
  for (int tap = 0; tap < 2; ++tap) {
    int8x16_t a = vld1q_s8(tap == 0 ? one : two);
    int16x8_t left = vmovl_s8(vget_low_s8(a)), right = vmovl_high_s8(a);
    sums.v[0] = vmlal_s16(sums.v[0], vget_low_s16(left), vget_low_s16(low.val[tap]));
    sums.v[1] = vmlal_high_s16(sums.v[1], left, low.val[tap]);
    sums.v[2] = vmlal_s16(sums.v[2], vget_low_s16(right), vget_low_s16(high.val[tap]));
    sums.v[3] = vmlal_high_s16(sums.v[3], right, high.val[tap]);
  }
  return sums;
}

inline std::int64_t sum_place(std::int64_t channel) {
  return channel;
}
inline std::int64_t weight_place(std::int64_t channel) {
  return channel;
}
inline void store_in_order(std::int32_t* to, Sums sums) {
  for (int v = 0; v < 4; ++v) store(to + v * kLanes, sums.v[v]);
}
inline void store_block(std::int8_t* to, Sums sums, std::int8_t low) {
  store_bytes<4>(to, sums.v, low);
}

#endif

// The sums of a row, of which tap t is at taps[t * stride] + offset. kTaps: their number, or 0: any.
template <bool kShift, int kTaps>
inline Sums sums_of_row(const Int8Rows& rows, const std::int8_t* const* taps, const Int8Channels& channels,
                        Sums sums, Ints shift) {
  std::int64_t count = kTaps > 0 ? kTaps : rows.segments;
  auto tap = [&](std::int64_t t) { return taps[(t < count ? t : count - 1) * rows.stride] + rows.offset; };
  auto pair = [&](std::int64_t p) {
    return products<kShift>(tap(2 * p), tap(2 * p + 1), channels.weights + p * 2 * kBytes, shift);
  };
  if constexpr (kTaps == 9) {
    Words a = add(add(pair(0), pair(1)), pair(2));
    return widen(sums, a, add(pair(3), pair(4)));
  }
  std::int64_t p = 0;
  const std::uint8_t* groups = channels.groups;
  for (std::int64_t round = 0; round < channels.rounds; ++round, groups += 2) {
    Words words[2] = {pair(p++), zero_words()};
    for (int i = 1; i < groups[0]; ++i) words[0] = add(words[0], pair(p++));
    for (int i = 0; i < groups[1]; ++i) words[1] = add(words[1], pair(p++));
    sums = widen(sums, words[0], words[1]);
  }
  return sums;
}

inline Sums sums_of_row_wide(const Int8Rows& rows, const std::int8_t* const* taps,
                             const Int8Channels& channels, Sums start) {
  Sums sums = {{all(0), all(0), all(0), all(0)}};
  for (std::int64_t t = 0; t < rows.segments; t += 2) {
    const std::int8_t* one = taps[t * rows.stride] + rows.offset;
    const std::int8_t* two = t + 1 < rows.segments ? taps[(t + 1) * rows.stride] + rows.offset : one;
    sums = add_wide(sums, one, two, channels.weights + t * 2 * kBytes);
  }
  for (int v = 0; v < 4; ++v) sums.v[v] = add(start.v[v], shift_right<kWideShift>(sums.v[v]));
  return sums;
}

template <class SumsOfRow>
void run(const Int8Rows& rows, const Int8Channels& channels, const Int8Target& target,
         const SumsOfRow& sums_of) {
  Sums start;
  for (int v = 0; v < 4; ++v) start.v[v] = load(channels.init + v * kLanes);
  const ByteClamp clamp(target);
  if (clamp.possible) {
    const ClampedInts clamped(clamp);
    std::int8_t* to = target.integers;
    for (std::int64_t r = 0; r < rows.rows; ++r, to += target.stride) {
      Sums sums = sums_of(rows.pointers + r, start);
      for (int v = 0; v < 4; ++v)
        sums.v[v] =
            clamped(sums.v[v], load(channels.multiplier + v * kLanes), load(channels.bias + v * kLanes));
      if (channels.columns == kBytes) {
        store_block(to, sums, clamp.low);
      } else {
        std::int8_t bytes[kBytes];
        store_block(bytes, sums, clamp.low);
        copy_bytes(to, bytes, channels.columns);
      }
    }
    return;
  }
  alignas(64) std::int32_t block[kBlockRows * kBytes];
  for (std::int64_t first = 0; first < rows.rows; first += kBlockRows) {
    std::int64_t count = rows.rows - first < kBlockRows ? rows.rows - first : kBlockRows;
    for (std::int64_t r = 0; r < count; ++r)
      store_in_order(block + r * kBytes, sums_of(rows.pointers + first + r, start));
    finish<4>(block, count, channels.plain, channels.plain + kBytes, channels.columns, target, first);
  }
}

template <bool kShift>
void run_narrow(const Int8Rows& rows, const Int8Channels& channels, const Int8Target& target) {
#if defined(__AVX2__)
  Ints shift = all_bytes(channels.shift);
#else
  Ints shift = all(0);
#endif
  if (rows.segments == 9 && channels.rounds == 1 && channels.groups[0] == 3)
    run(rows, channels, target, [&](const std::int8_t* const* taps, Sums start) {
      return sums_of_row<kShift, 9>(rows, taps, channels, start, shift);
    });
  else
    run(rows, channels, target, [&](const std::int8_t* const* taps, Sums start) {
      return sums_of_row<kShift, 0>(rows, taps, channels, start, shift);
    });
}

}  // namespace

void int8_depthwise(const Int8Rows& rows, const Int8Channels& channels, const Int8Target& target) {
  if (channels.wide)
    run(rows, channels, target, [&](const std::int8_t* const* taps, Sums start) {
      return sums_of_row_wide(rows, taps, channels, start);
    });
  else if (channels.shift)
    run_narrow<true>(rows, channels, target);
  else
    run_narrow<false>(rows, channels, target);
}

std::int64_t int8_sum_place(std::int64_t channel) {
  return sum_place(channel);
}
std::int64_t int8_weight_place(std::int64_t channel) {
  return weight_place(channel);
}

}  // namespace octet::simd::OCTET_SIMD
