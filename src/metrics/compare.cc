#include "metrics/compare.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"

namespace octet {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

void Comparer::add(std::span<const float> expected, std::span<const float> actual) {
  check(expected.size() == actual.size(), "a comparison needs two spans of one length");
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double e = expected[i], a = actual[i];
    if (!std::isfinite(e) || !std::isfinite(a)) {
      const bool same = e == a || (std::isnan(e) && std::isnan(a));
      if (!same) max_abs_difference_ = kInfinity;
      continue;
    }
    max_abs_difference_ = std::max(max_abs_difference_, std::fabs(a - e));
    max_abs_expected_ = std::max(max_abs_expected_, std::fabs(e));
    dot_ += e * a;
    expected_power_ += e * e;
    actual_power_ += a * a;
    noise_power_ += (a - e) * (a - e);
  }
}

Comparison Comparer::result() const {
  Comparison result{max_abs_difference_, max_abs_expected_};
  if (expected_power_ > 0 && actual_power_ > 0)
    result.cosine = std::clamp(dot_ / (std::sqrt(expected_power_) * std::sqrt(actual_power_)), -1.0, 1.0);
  else
    result.cosine = expected_power_ == actual_power_ ? 1.0 : 0.0;
  result.sqnr_db = noise_power_ > 0 ? 10.0 * std::log10(expected_power_ / noise_power_) : kInfinity;
  return result;
}

Comparison compare(std::span<const float> expected, std::span<const float> actual) {
  Comparer comparer;
  comparer.add(expected, actual);
  return comparer.result();
}

}  // namespace octet
