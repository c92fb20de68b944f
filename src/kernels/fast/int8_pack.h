#pragma once
#include <algorithm>
#include <cstdlib>
#include <vector>

#include "kernels/kernel.h"
#include "kernels/simd/int8.h"

// Weights of integer convolutions and products, packed into the panels that kernels/simd multiplies with.
namespace octet::fast {

// How the left side of a product lies in memory: a row is `segments` runs of `length` int8. `offsets` has,
// for each of them in this order, where its weight is in a column's weights.
struct LhsLayout {
  std::int64_t segments = 0, length = 0;
  std::vector<std::int64_t> offsets;

  std::int64_t units() const { return (length + 3) / 4; }
};

// What the elements of the left side are known to lie in, padding included; 0 is always among them.
struct LhsRange {
  int low = -128, high = 127;
};
LhsRange lhs_range(const Node& node);  // its attributes x_min and x_max
// The integer that stands for 0 on the left side, and is what it is padded with.
std::int8_t lhs_zero(const KernelArgs& args);

// What sums of products in 16 bits may be.
struct PairLimits {
  PairLimits(const simd::Int8Features& features, LhsRange range)
      : both_signs(!features.unsigned_pairs),
        shift(both_signs ? 0 : -range.low),
        left(std::max(both_signs ? std::max(range.high, -range.low) : range.high - range.low, 1)) {}

  // How far a weight lets a sum reach above 0, or below it, when the left sides are 0 .. 1.
  int reach(int weight, bool below) const {
    return both_signs ? std::abs(weight) : std::max(below ? -weight : weight, 0);
  }
  // What 16 bits hold of it, with left sides as large as they are.
  int most(bool below) const { return (below && !both_signs ? 32768 : 32767) / left; }

  bool both_signs;  // products of a weight can have either sign
  int shift;        // what is added to the left side
  int left;         // its largest magnitude then
};

// The weights of a node, as int16: those with a zero point less that may not fit into int8.
std::vector<std::int16_t> weights_of(const Tensor& weight);

// The columns of a product: element `offset` of column c is at c * step + offset, in one of the two.
struct WeightColumns {
  const std::int8_t* bytes = nullptr;
  const std::int16_t* words = nullptr;
  std::int64_t step = 0;
  std::int64_t count = 0;

  // `count` columns from element `begin` on.
  WeightColumns part(std::int64_t begin, std::int64_t of_step, std::int64_t of_count) const {
    return {bytes ? bytes + begin : nullptr, words ? words + begin : nullptr, of_step, of_count};
  }
};
// The weights of a node where they are.
WeightColumns all_columns(const Tensor& weight);

// What a column's sums are rescaled with.
struct Rescaling {
  explicit Rescaling(const PrepareArgs& args);  // inputs 2 and 3 of an integer convolution or product
  // Of so many copies of the columns, one after the other.
  Rescaling repeated(std::int64_t times) const;

  Tensor multiplier;  // one for all, or one per column
  Tensor bias;        // empty: none
};

// Whether everything but the image and the residual is constant, so that it can be packed, and these two are
// not, as constants are given up once they are packed.
bool can_pack(const PrepareArgs& args);

struct PackedPanel {
  simd::Int8Panel panel;
  std::int64_t first;        // its first column, among all of the output
  std::int64_t offset;       // of its left side from that of the first group, in elements
  Tensor memory;             // what `panel` points into
  const std::int32_t* sums;  // the sum of each column's weights, one for each place of `panel.init`
};

// All panels of a product, and the form in which they want their left side.
struct PackedProduct {
  LhsLayout form;  // its offsets are dropped when all is packed
  std::vector<PackedPanel> panels;
};

// Appends the panels of some columns, which are the columns of the output from `first` on. Each panel gets
// the kind that is the fastest, and exact for all left sides in `range`.
void pack_panels(const simd::Int8Features& features, const WeightColumns& weights, LhsRange range,
                 const Rescaling& rescaling, std::int64_t first, std::int64_t offset, PackedProduct& product);

}  // namespace octet::fast
