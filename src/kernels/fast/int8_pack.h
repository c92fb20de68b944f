#pragma once
#include <algorithm>
#include <cstdlib>
#include <vector>

#include "kernels/kernel.h"
#include "kernels/simd/int8.h"

// Weights of integer convolutions and products, packed into the panels that kernels/simd multiplies with.
namespace octet::fast {

// How the left side of a product lies in memory: a row is `segments` runs of `length` elements, int8 or
// (wide) int16. `offsets` has, for each element in this order, where its weight is in a column's weights.
struct LeftForm {
  std::int64_t segments = 0, length = 0;
  std::vector<std::int64_t> offsets;

  std::int64_t units(bool wide) const { return wide ? (length + 1) / 2 : (length + 3) / 4; }
};

// What the elements of the left side are known to lie in; 0 is always among them, as padding.
struct LeftRange {
  int low = -128, high = 127;
};
LeftRange left_range(const Node& node);  // its attributes x_min and x_max

// What sums of products in 16 bits may be.
struct PairLimits {
  // `flips`: for weights that are inverted where the left side is negative (Int8Kind::kFlips).
  PairLimits(const simd::Int8Features& features, LeftRange range, bool flips = false)
      : both_signs(flips || !features.unsigned_pairs),
        shift(both_signs ? 0 : -range.low),
        left(std::max(both_signs ? std::max(range.high, -range.low) : range.high - range.low, 1)),
        spare(flips ? 4 : 0) {}

  // How far a weight lets a sum reach above 0, or below it, when the left sides are 0 .. 1.
  int reach(int weight, bool below) const {
    return both_signs ? std::abs(weight) : std::max(below ? -weight : weight, 0);
  }
  // What 16 bits hold of it, with left sides as large as they are.
  int most(bool below) const { return (below && !both_signs ? 32768 : 32767) / left - spare; }

  bool both_signs;  // products of a weight can have either sign
  int shift;        // what is added to the left side
  int left;         // its largest magnitude then
  int spare;        // an inverted weight reaches 1 further; up to 4 of them are added
};

struct WeightColumns {
  const std::int8_t* data;  // element `offset` of column c: data[c * step + offset]
  std::int64_t step;
  std::int64_t count;
};

// What a column's sums are rescaled with.
struct Rescaling {
  explicit Rescaling(const PrepareArgs& args);  // inputs 2 and 3 of an integer convolution or product

  Tensor multiplier;  // one for all, or one a column
  Tensor bias;        // empty: none
};

// Whether everything but the image and the residual is constant, so that it can be packed, and these two are
// not, as constants are given up once they are packed.
bool can_pack(const PrepareArgs& args);

struct PackedPanel {
  simd::Int8Panel panel;
  std::int64_t first;   // its first column, among all of the output
  std::int64_t offset;  // of its left side from that of the first group, in elements
  Tensor memory;        // what `panel` points into

  bool flips() const { return panel.kind == simd::Int8Kind::kFlips || panel.kind == simd::Int8Kind::kFlips2; }
  bool wide() const { return panel.kind == simd::Int8Kind::kWide; }
};

// All panels of a product, and the two forms in which they want their left side.
struct PackedProduct {
  LeftForm narrow, wide;
  std::vector<PackedPanel> panels;

  const LeftForm& form(bool is_wide) const { return is_wide ? wide : narrow; }
  bool uses(bool is_wide) const;  // whether a panel wants this form
  void drop_offsets();            // when all is packed, they are not needed any more
};

// Appends the panels of some columns, which are the columns of the output from `first` on. Each panel gets
// the kind that is the fastest, and exact for all left sides in `range`.
void pack_panels(const simd::Int8Features& features, const WeightColumns& weights, LeftRange range,
                 const Rescaling& rescaling, std::int64_t first, std::int64_t offset, PackedProduct& product);

}  // namespace octet::fast
