#pragma once
#include "kernels/simd/portable/vec.h"

#include "kernels/simd/scalar.h"

// For every CPU: no instruction is named.
namespace octet::simd::OCTET_SIMD {
namespace {

using scalar::arg_max_row;
using scalar::Block;
using scalar::copy_bytes;
using scalar::interleave_three;
using scalar::lookup;
using scalar::store_int8;

constexpr bool kLowestForNan = false;  // round_to_ints() of NaN

// Products are made and added in 32 bits, exact for all operands.
struct Products {
  static constexpr int rows(int vectors) { return kInt8TileRows[vectors]; }
  static constexpr std::int64_t kVectorBytes = 4 * kLanes;
  static constexpr bool kTwoUnits = false;
  explicit Products(std::int8_t) {}
  const std::int8_t* left(const std::int8_t* p) const { return p; }
  Ints add(Ints sum, const std::int8_t* a, const std::int8_t* w) const {
    for (int i = 0; i < 4; ++i) sum += Ints{w[i], w[4 + i], w[8 + i], w[12 + i]} * static_cast<int>(a[i]);
    return sum;
  }
};

// Calls use.operator()<Kind>() with the kind of the panel's products.
template <class Use>
inline void with_kind(const Int8Panel&, const Use& use) {
  use.template operator()<Products>();
}

constexpr Int8Features kFeatures = {.lanes = kLanes,
                                    .dot = false,
                                    .pairs2 = false,
                                    .opposed = false,
                                    .bytes = 4 * kLanes,
                                    .unsigned_pairs = false};

struct WinogradWords;  // not here: no Winograd in integers
struct QuadUnits;      // nor quads

// Depthwise convolution: its partial sums are in 32 bits, too, and everything lies in the order of channels.
constexpr int kBlockBytes = 4 * kLanes;  // channels in a block

struct Sums {
  Ints v[4];
};
using Words = Sums;

inline Ints shift_of(const Int8Channels&) {
  return all(0);
}
inline Words zero_words() {
  return {};
}
inline Words add(Words a, Words b) {
  for (int v = 0; v < 4; ++v) a.v[v] += b.v[v];
  return a;
}
// sums + a + b
inline Sums widen(Sums sums, Words a, Words b) {
  return add(add(sums, a), b);
}
// The products of a pair of taps with weights of two taps side by side.
template <class Weight>
[[gnu::noinline]] Words products_of(const std::int8_t* one, const std::int8_t* two, const Weight* weights) {
  Words words;
  for (int c = 0; c < kBlockBytes; ++c)
    words.v[c / kLanes][c % kLanes] = one[c] * weights[2 * c] + two[c] * weights[2 * c + 1];
  return words;
}
inline const std::int8_t* load_weights(const std::int8_t* weights) {
  return weights;
}
template <bool kShift>
inline Words products(const std::int8_t* one, const std::int8_t* two, const std::int8_t* weights, Ints) {
  return products_of(one, two, weights);
}
constexpr int kWideShift = 0;
inline Sums add_wide(Sums sums, const std::int8_t* one, const std::int8_t* two, const std::int8_t* weights) {
  return add(sums, products_of(one, two, reinterpret_cast<const std::int16_t*>(weights)));
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
