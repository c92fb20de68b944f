#include <algorithm>

#include "quant/thresholds/thresholds.h"

namespace octet::quant {

// The largest magnitude that was seen.
double abs_max_threshold(const Observed& seen, const ThresholdOptions&) {
  return seen.abs_max();
}

// The mean over batches of the mean over samples of the sample's largest magnitude.
double avg_threshold(const Observed& seen, const ThresholdOptions&) {
  const auto& averages = seen.statistics.averages;
  double sum = 0;
  for (const auto& [batch, average] : averages) sum += static_cast<double>(average);
  return sum / static_cast<double>(std::max<std::size_t>(averages.size(), 1));
}

}  // namespace octet::quant
