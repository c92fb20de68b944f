#include <algorithm>
#include <cmath>

#include "graph/quantization.h"
#include "quant/thresholds/thresholds.h"

// Of a grid of thresholds the one with the least error: mse, emd and ptf.
namespace octet::quant {

namespace {

constexpr int kFineBins = 8192;

enum class Loss : std::uint8_t { kSquares, kMoments };

struct Grid {
  std::vector<double> fractions;  // of the largest magnitude
  Loss loss;
};

// What they choose, from a histogram of all data in place of the elements of each batch: magnitudes stand at
// the centre of their bin, and emd looks at magnitudes.
double best_of(const Grid& grid, const Histogram& h, double abs_max, int bits) {
  const double levels = levels_of(bits);
  double count = 0, mean = 0, power = 0;
  for (std::size_t i = 0; i < h.counts.size(); ++i) {
    double x = h.low + (static_cast<double>(i) + 0.5) * h.width();
    count += h.counts[i], mean += h.counts[i] * x, power += h.counts[i] * x * x;
  }
  mean /= count, power /= count;
  double deviation = std::sqrt(std::max(0.0, power - mean * mean));
  double best = abs_max, best_loss = -1;
  for (double fraction : grid.fractions) {
    const double t = fraction * abs_max;
    double squared = 0, mean_y = 0, power_y = 0;
    for (std::size_t i = 0; i < h.counts.size(); ++i) {
      if (h.counts[i] == 0) continue;
      double x = h.low + (static_cast<double>(i) + 0.5) * h.width();
      double y = std::min(std::nearbyint(x / t * levels), levels) * t / levels;
      squared += h.counts[i] * (x - y) * (x - y), mean_y += h.counts[i] * y, power_y += h.counts[i] * y * y;
    }
    mean_y /= count, power_y /= count;
    double loss = grid.loss == Loss::kMoments
                      ? std::fabs(mean - mean_y) +
                            std::fabs(deviation - std::sqrt(std::max(0.0, power_y - mean_y * mean_y)))
                      : squared;
    if (best_loss < 0 || loss <= best_loss) best = t, best_loss = loss;
  }
  return best;
}

double find(const Observed& seen, const BestThreshold& of_batches, const Grid& grid,
            const ThresholdOptions& options) {
  if (of_batches.loss >= 0 && !options.by_histogram) return of_batches.threshold;
  const double abs_max = seen.abs_max();
  if (seen.is_constant()) return abs_max;
  return best_of(
      grid, seen.second_pass ? *seen.second_pass : seen.statistics.histogram.rebin(0, abs_max, kFineBins),
      abs_max, options.bits);
}

}  // namespace

double mse_threshold(const Observed& seen, const ThresholdOptions& options) {
  return find(seen, seen.statistics.mse, {grid_fractions(), Loss::kSquares}, options);
}

double emd_threshold(const Observed& seen, const ThresholdOptions& options) {
  return find(seen, seen.statistics.emd, {grid_fractions(), Loss::kMoments}, options);
}

// Powers of two.
double ptf_threshold(const Observed& seen, const ThresholdOptions& options) {
  return find(seen, seen.statistics.ptf, {{0.125, 0.25, 0.5, 1}, Loss::kSquares}, options);
}

}  // namespace octet::quant
