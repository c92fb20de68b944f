#pragma once
#include <span>
#include <string_view>

#include "quant/statistics.h"

// From the statistics of a tensor to its threshold: the largest magnitude that is represented (Paddle's
// "scale", our abs_max). The formulas are PaddleSlim's; docs/ptq-algorithms.md has them, and
// docs/add-a-threshold.md says how to add one.
namespace octet::quant {

// The smallest threshold there is: what was always zero gets it.
constexpr double kMinThreshold = 1e-8;

struct ThresholdOptions {
  int bits = 8;
  double hist_percent = 0.9999;
  bool by_histogram = false;  // mse, emd and ptf, too, even where their own statistics were kept
};

// What calibration saw of a tensor.
struct Observed {
  const TensorStatistics& statistics;
  const Histogram* second_pass = nullptr;  // with the range that the first one found; null: there was none

  double abs_max() const { return static_cast<double>(statistics.abs_max); }
  // A tensor whose magnitudes are all the same has no histogram to speak of.
  bool is_constant() const { return statistics.abs_min == statistics.abs_max; }
  Histogram histogram() const;  // of kCoarseBins between the smallest and the largest magnitude
};

// The statistics that a method looks at.
enum class Statistic : std::uint8_t {
  kRange,      // the extremes, also of each batch
  kHistogram,  // of the magnitudes; without one (see is_constant) the method is not asked
  kErrors,     // of each batch, for a grid of thresholds; kept for those who ask for such a method
};

struct ThresholdMethod {
  std::string_view name;
  Statistic needs;
  double (*find)(const Observed& seen, const ThresholdOptions& options);
};

std::span<const ThresholdMethod> threshold_methods();

// By any spelling of the name ("KL", "abs_max", "absmax"); null for "auto": all of them are to be tried.
// Fails with the names that there are.
const ThresholdMethod* find_threshold_method(std::string_view name);

// At least kMinThreshold.
double threshold_of(const Observed& seen, const ThresholdMethod& method, const ThresholdOptions& options);

}  // namespace octet::quant
