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

// Compares part after part of two long tensors.
class Comparer {
 public:
  // The spans have the same length. Elements that are not finite on either side count only in
  // max_abs_difference.
  void add(std::span<const float> expected, std::span<const float> actual);
  Comparison result() const;

 private:
  double max_abs_difference_ = 0, max_abs_expected_ = 0;
  double dot_ = 0, expected_power_ = 0, actual_power_ = 0, noise_power_ = 0;
};

Comparison compare(std::span<const float> expected, std::span<const float> actual);

}  // namespace octet
