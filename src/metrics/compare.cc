#include "metrics/compare.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"

namespace octet {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

void Comparer::add(std::span<const float> expected, std::span<const float> actual) {
  check(expected.size() == actual.size(), "a comparison needs two spans of one length");
  // Sums in lanes, which do not wait for each other.
  constexpr std::size_t kLanes = 4;
  double dot[kLanes] = {}, expected_power[kLanes] = {}, actual_power[kLanes] = {}, noise_power[kLanes] = {};
  double difference[kLanes] = {}, largest[kLanes] = {};
  auto look = [&](std::size_t i, std::size_t lane) {
    double e = static_cast<double>(expected[i]), a = static_cast<double>(actual[i]), d = std::fabs(a - e);
    if (!std::isfinite(e) || !std::isfinite(a)) {
      const bool same = e == a || (std::isnan(e) && std::isnan(a));
      if (!same) max_abs_difference_ = kInfinity;
      e = a = d = 0;
    }
    difference[lane] = std::max(difference[lane], d);
    largest[lane] = std::max(largest[lane], std::fabs(e));
    dot[lane] += e * a;
    expected_power[lane] += e * e;
    actual_power[lane] += a * a;
    noise_power[lane] += d * d;
  };
  std::size_t i = 0;
  for (; i + kLanes <= expected.size(); i += kLanes)
    for (std::size_t lane = 0; lane < kLanes; ++lane) look(i + lane, lane);
  for (; i < expected.size(); ++i) look(i, 0);
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    max_abs_difference_ = std::max(max_abs_difference_, difference[lane]);
    max_abs_expected_ = std::max(max_abs_expected_, largest[lane]);
    dot_ += dot[lane];
    expected_power_ += expected_power[lane];
    actual_power_ += actual_power[lane];
    noise_power_ += noise_power[lane];
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
