#include "quant/thresholds/thresholds.h"

namespace octet::quant {

// A percentile of the magnitudes: the middle of the first bin up to which the share hist_percent lies.
double hist_threshold(const Observed& seen, const ThresholdOptions& options) {
  const Histogram histogram = seen.histogram();
  double total = 0, sum = 0;
  for (double count : histogram.counts) total += count;
  std::size_t k = 0;
  for (std::size_t i = 0; i < histogram.counts.size(); ++i) {
    sum += histogram.counts[i] / total;
    if (sum < options.hist_percent) continue;
    k = i + 1;
    break;
  }
  return (static_cast<double>(k) - 0.5) * histogram.width();
}

}  // namespace octet::quant
