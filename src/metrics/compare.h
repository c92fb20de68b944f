#pragma once
#include <span>

namespace octet {

// How far `actual` is from `expected`, element by element. Sums are in double.
struct Comparison {
  double max_abs_difference = 0;  // infinite when a NaN or infinity is not matched by the same
  double max_abs_expected = 0;    // of the finite values
  double cosine = 1;              // 1 when both are zero, 0 when only one is
  double sqnr_db = 0;  // 10 log10(|expected|^2 / |actual - expected|^2); infinite when there is no difference
};

// The spans have the same length. Elements that are not finite on either side count only in
// max_abs_difference.
Comparison compare(std::span<const float> expected, std::span<const float> actual);

}  // namespace octet
