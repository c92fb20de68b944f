#include "metrics/compare.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"

namespace octet {

Comparison compare(std::span<const float> expected, std::span<const float> actual) {
  check(expected.size() == actual.size(), "compare() needs two spans of one length");
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  Comparison result;
  double dot = 0, expected_power = 0, actual_power = 0, noise_power = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double e = expected[i], a = actual[i];
    if (!std::isfinite(e) || !std::isfinite(a)) {
      const bool same = e == a || (std::isnan(e) && std::isnan(a));
      if (!same) result.max_abs_difference = kInfinity;
      continue;
    }
    result.max_abs_difference = std::max(result.max_abs_difference, std::fabs(a - e));
    result.max_abs_expected = std::max(result.max_abs_expected, std::fabs(e));
    dot += e * a;
    expected_power += e * e;
    actual_power += a * a;
    noise_power += (a - e) * (a - e);
  }
  if (expected_power > 0 && actual_power > 0)
    result.cosine = std::clamp(dot / (std::sqrt(expected_power) * std::sqrt(actual_power)), -1.0, 1.0);
  else
    result.cosine = expected_power == actual_power ? 1.0 : 0.0;
  result.sqnr_db = noise_power > 0 ? 10.0 * std::log10(expected_power / noise_power) : kInfinity;
  return result;
}

}  // namespace octet
