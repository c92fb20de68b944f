#pragma once
#include "kernels/simd/scalar.h"

// What the int8 kernels need of x86 whatever the width of its vectors: the left side of products
// (simd/int8.h) and depthwise convolutions. Included behind a vec.h.
namespace octet::simd::OCTET_SIMD {
namespace {

constexpr bool kLowestForNan = true;  // round_to_ints() of NaN

// The left side as bytes of 0..255, with kShift by adding to them.
template <bool kShift>
struct UnsignedBytes {
  static constexpr int rows(int vectors) { return kInt8TileRows[vectors]; }
  static constexpr std::int64_t kVectorBytes = 4 * kLanes;
  explicit UnsignedBytes(std::int8_t by) : shift(all_bytes(by)) {}
  Ints left(const std::int8_t* p) const {
    Ints a = all(unit_at(p));
    if constexpr (kShift) a = add_bytes(a, shift);
    return a;
  }
  Ints shift;
};

constexpr Int8Features features_of_x86(bool has_dot, bool has_strips, bool has_winograd) {
  return {.lanes = kLanes,
          .dot = has_dot,
          .pairs2 = true,
          .opposed = true,
          .bytes = 4 * kLanes,
          .unsigned_pairs = true,
          .strips = has_strips,
          .quads = has_dot,
          .winograd = has_winograd};
}

// Depthwise convolution: bytes of two taps are interleaved, so that one instruction makes the products of
// both and adds them in 16 bits. Interleaving works inside of 16-byte lanes; what it does to the order of
// channels is undone when the results are packed to bytes.
constexpr int kBlockBytes = 4 * kLanes;  // channels in a block

// The sums of a block in 32 bits, and partial ones in 16 bits.
struct Sums {
  Ints v[4];
};
struct Words {
  Ints low, high;
};

inline Ints shift_of(const Int8Channels& channels) {
  return all_bytes(channels.shift);
}
inline Words zero_words() {
  return {all(0), all(0)};
}

inline Words load_weights(const std::int8_t* weights) {
  return {load_bytes(weights), load_bytes(weights + kBlockBytes)};
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
    return add(sums.v[v], pairs_of_words(left, load_bytes(weights + v * kBlockBytes)));
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
  alignas(64) std::int32_t lanes[kBlockBytes];
  for (int v = 0; v < 4; ++v) store(lanes + v * kLanes, sums.v[v]);
  for (int l = 0; l < kLanes / 4; ++l)
    for (int v = 0; v < 4; ++v)
      _mm_storeu_si128(reinterpret_cast<__m128i*>(to + 16 * l + 4 * v),
                       _mm_load_si128(reinterpret_cast<const __m128i*>(lanes + v * kLanes + 4 * l)));
}

}  // namespace
}  // namespace octet::simd::OCTET_SIMD
