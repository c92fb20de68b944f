#pragma once
#include "kernels/simd/scalar.h"

// Products of int8 and depthwise convolutions. Included behind vec.h.
namespace octet::simd::OCTET_SIMD {
namespace {

constexpr bool kLowestForNan = false;  // round_to_ints() of NaN

// Signed bytes as they are: 16 bits hold |a| <= 128 times a pair of weights that are not both -128.
template <bool kShift>
struct Pairs {
  static constexpr int rows(int vectors) { return kInt8TileRows[vectors]; }
  static constexpr std::int64_t kVectorBytes = 4 * kLanes;
  static constexpr bool kTwoUnits = false;
  explicit Pairs(std::int8_t) {}
  int8x16_t left(const std::int8_t* p) const { return vreinterpretq_s8_s32(vdupq_n_s32(unit_at(p))); }
  Ints add(Ints sum, int8x16_t a, const std::int8_t* w) const {
    int8x16_t b = vld1q_s8(w);
    int16x8_t words = vpaddq_s16(vmull_s8(vget_low_s8(a), vget_low_s8(b)), vmull_high_s8(a, b));
    return vpadalq_s16(sum, words);
  }
};

// Calls use.operator()<Kind>() with the kind of the panel's products.
template <class Use>
inline void with_kind(const Int8Panel&, const Use& use) {
  use.template operator()<Pairs<false>>();
}

constexpr Int8Features kFeatures = {.lanes = kLanes,
                                    .dot = false,
                                    .pairs2 = false,
                                    .opposed = false,
                                    .bytes = 4 * kLanes,
                                    .unsigned_pairs = false};

struct WinogradWords;  // not here: no Winograd in integers
struct QuadUnits;      // nor quads

constexpr int kBlockBytes = 4 * kLanes;  // channels in a block of a depthwise convolution

// The sums of a block in 32 bits, and partial ones in 16 bits.
struct Sums {
  Ints v[4];
};
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
  int16x8x2_t low = vld2q_s16(words), high = vld2q_s16(words + kBlockBytes);
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
inline void store_block(std::int8_t* to, const Ints (&v)[4], std::int8_t low) {
  store_bytes<4>(to, v, low);
}

}  // namespace
}  // namespace octet::simd::OCTET_SIMD
