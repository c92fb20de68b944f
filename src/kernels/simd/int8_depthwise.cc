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

inline Ints shift_of(const Int8Channels& channels) {
  return all_bytes(channels.shift);
}
inline Words zero_words() {
  return {all(0), all(0)};
}

inline Words load_weights(const std::int8_t* weights) {
  return {load_bytes(weights), load_bytes(weights + kBytes)};
}
// The products of a pair of taps. kShift: `shift` is added to the bytes of the left side.
template <bool kShift>
inline Words products(const std::int8_t* one, const std::int8_t* two, Words weights, Ints shift) {
  Ints a = load_bytes(one), b = load_bytes(two);
  if constexpr (kShift) {
    a = add_bytes(a, shift);
    b = add_bytes(b, shift);
  }
  return {pairs_of_bytes(low_bytes(a, b), weights.low), pairs_of_bytes(high_bytes(a, b), weights.high)};
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

inline Ints shift_of(const Int8Channels&) {
  return all(0);
}
inline Words zero_words() {
  return {vdupq_n_s16(0), vdupq_n_s16(0)};
}
inline int8x16x2_t load_weights(const std::int8_t* weights) {
  return vld2q_s8(weights);
}
template <bool kShift>
inline Words products(const std::int8_t* one, const std::int8_t* two, int8x16x2_t w, Ints) {
  int8x16_t a = vld1q_s8(one), b = vld1q_s8(two);
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

template <bool kShift>
inline Sums start_of(const Int8Channels& channels) {
  Sums sums;
  for (int v = 0; v < 4; ++v) sums.v[v] = kShift ? load(channels.init + v * kLanes) : all(0);
  return sums;
}

// The ways to the sums of an output whose taps are at p + offsets.

// kSize x kSize taps, side by side, in kRounds rounds.
template <bool kShift, int kSize, int kRounds>
class SquareTaps {
 public:
  SquareTaps(const Int8Plane& plane, const Int8Channels& channels)
      : channels_(channels), row_(plane.offsets[kSize]), shift_(shift_of(channels)) {}

  Sums operator()(const std::int8_t* p) const {
    constexpr int kTaps = kSize * kSize, kPairs = (kTaps + 1) / 2, kGroups = 2 * kRounds;
    const std::int8_t* rows[kSize];
    for (int y = 0; y < kSize; ++y) rows[y] = p + y * row_;
    auto tap = [&](int t) {
      t = t < kTaps ? t : kTaps - 1;
      return rows[t / kSize] + t % kSize * kBytes;
    };
    int pair = 0;
    auto group = [&](int g) {
      Words sum = zero_words();
      int count = kPairs / kGroups + (g < kPairs % kGroups ? 1 : 0);
#pragma GCC unroll 16
      for (int i = 0; i < count; ++i, ++pair) {
        Words both = products<kShift>(tap(2 * pair), tap(2 * pair + 1),
                                      load_weights(channels_.weights + pair * 2 * kBytes), shift_);
        sum = i == 0 ? both : add(sum, both);
      }
      return sum;
    };
    Sums sums = start_of<kShift>(channels_);
#pragma GCC unroll 16
    for (int r = 0; r < kRounds; ++r) {
      Words first = group(2 * r), second = group(2 * r + 1);
      sums = widen(sums, first, second);
    }
    return sums;
  }

 private:
  const Int8Channels channels_;  // a copy, which no store of a result can change
  std::int64_t row_;
  Ints shift_;
};

template <bool kShift>
class AnyTaps {
 public:
  AnyTaps(const Int8Plane& plane, const Int8Channels& channels)
      : channels_(channels), offsets_(plane.offsets), shift_(shift_of(channels)) {}

  Sums operator()(const std::int8_t* p) const {
    Sums sums = start_of<kShift>(channels_);
    const std::int64_t* offsets = offsets_;
    const std::int8_t* weights = channels_.weights;
    auto next = [&] {
      Words both = products<kShift>(p + offsets[0], p + offsets[1], load_weights(weights), shift_);
      offsets += 2;
      weights += 2 * kBytes;
      return both;
    };
    const std::uint8_t* groups = channels_.groups;
    for (std::int64_t round = 0; round < channels_.rounds; ++round, groups += 2) {
      Words first = next(), second = zero_words();
      for (int i = 1; i < groups[0]; ++i) first = add(first, next());
      for (int i = 0; i < groups[1]; ++i) second = add(second, next());
      sums = widen(sums, first, second);
    }
    return sums;
  }

 private:
  const Int8Channels channels_;
  const std::int64_t* offsets_;
  Ints shift_;
};

class WideTaps {
 public:
  WideTaps(const Int8Plane& plane, const Int8Channels& channels)
      : offsets_(plane.offsets), taps_(plane.taps), weights_(channels.weights) {}

  Sums operator()(const std::int8_t* p) const {
    Sums sums = {{all(0), all(0), all(0), all(0)}};
    for (std::int64_t t = 0; t < taps_; t += 2)
      sums = add_wide(sums, p + offsets_[t], p + offsets_[t + 1], weights_ + t * 2 * kBytes);
    for (Ints& v : sums.v) v = shift_right<kWideShift>(v);
    return sums;
  }

 private:
  const std::int64_t* offsets_;
  std::int64_t taps_;
  const std::int8_t* weights_;
};

template <class Way>
void run(const Int8Plane& given, const Int8Channels& channels, const Int8Target& target) {
  const Int8Plane plane = given;  // copies, which no store of a result can change
  const Way sums_of(plane, channels);
  const ByteClamp clamp(target);
  if (clamp.possible) {
    const ClampedInts clamped(clamp);
    const float *multiplier = channels.multiplier, *bias = channels.bias;
    std::int64_t columns = channels.columns, stride = target.stride;
    std::int8_t* to = target.integers;
    for (std::int64_t y = 0; y < plane.rows; ++y) {
      const std::int8_t* p = plane.data + y * plane.row;
      for (std::int64_t x = 0; x < plane.columns; ++x, p += plane.step, to += stride) {
        Sums sums = sums_of(p);
        for (int v = 0; v < 4; ++v)
          sums.v[v] =
              clamped(fma(to_floats(sums.v[v]), load(multiplier + v * kLanes), load(bias + v * kLanes)));
        if (columns == kBytes) {
          store_block(to, sums, clamp.low);
        } else {
          std::int8_t bytes[kBytes];
          store_block(bytes, sums, clamp.low);
          copy_bytes(to, bytes, columns);
        }
      }
    }
    return;
  }
  alignas(64) std::int32_t block[kBlockRows * kBytes];
  for (std::int64_t y = 0; y < plane.rows; ++y)
    for (std::int64_t first = 0; first < plane.columns; first += kBlockRows) {
      std::int64_t count = plane.columns - first < kBlockRows ? plane.columns - first : kBlockRows;
      const std::int8_t* p = plane.data + y * plane.row + first * plane.step;
      for (std::int64_t x = 0; x < count; ++x, p += plane.step)
        store_in_order(block + x * kBytes, sums_of(p));
      finish<4>(block, count, channels.plain, channels.plain + kBytes, channels.columns, target,
                y * plane.columns + first);
    }
}

// Whether there are size x size taps, side by side.
bool is_square(const Int8Plane& plane, int size) {
  if (plane.taps != size * size) return false;
  for (int t = 0; t < size * size; ++t)
    if (plane.offsets[t] != t / size * plane.offsets[size] + t % size * kBytes) return false;
  return true;
}

// With at least kRounds rounds, which `channels` has.
template <bool kShift, int kSize, int kRounds = 1>
void run_square(const Int8Plane& plane, const Int8Channels& channels, const Int8Target& target) {
  constexpr int kMostRounds = (kSize * kSize + 3) / 4;
  if constexpr (kRounds < kMostRounds)
    if (channels.rounds > kRounds) return run_square<kShift, kSize, kRounds + 1>(plane, channels, target);
  run<SquareTaps<kShift, kSize, kRounds>>(plane, channels, target);
}

template <bool kShift>
void run_narrow(const Int8Plane& plane, const Int8Channels& channels, const Int8Target& target) {
  if (is_square(plane, 3))
    run_square<kShift, 3>(plane, channels, target);
  else if (is_square(plane, 5))
    run_square<kShift, 5>(plane, channels, target);
  else
    run<AnyTaps<kShift>>(plane, channels, target);
}

}  // namespace

void int8_depthwise(const Int8Plane& plane, const Int8Channels& channels, const Int8Target& target) {
  if (channels.wide)
    run<WideTaps>(plane, channels, target);
  else if (channels.shift)
    run_narrow<true>(plane, channels, target);
  else
    run_narrow<false>(plane, channels, target);
}

std::int64_t int8_sum_place(std::int64_t channel) {
  return sum_place(channel);
}
std::int64_t int8_weight_place(std::int64_t channel) {
  return weight_place(channel);
}

}  // namespace octet::simd::OCTET_SIMD
