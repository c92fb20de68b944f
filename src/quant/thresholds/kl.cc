#include <cmath>

#include "graph/quantization.h"
#include "quant/thresholds/thresholds.h"

namespace octet::quant {

namespace {

// Σ p ln p and the counts before each bin, so that a candidate costs as many logarithms as it has groups, not
// bins.
struct Prefix {
  std::vector<double> count, entropy;
  std::vector<int> used;  // bins that are not empty

  explicit Prefix(const std::vector<double>& counts) : count{0}, entropy{0}, used{0} {
    for (double c : counts) {
      count.push_back(count.back() + c);
      entropy.push_back(entropy.back() + (c > 0 ? c * std::log(c) : 0));
      used.push_back(used.back() + (c > 0));
    }
  }
};

// The end of the bins that are kept: the one with the least divergence between what was seen, cut off there,
// and the same in as many groups as there are integers.
int best_end(const std::vector<double>& h, int bits) {
  const int bins = static_cast<int>(h.size()), start = (bins - 1) / 2, levels = levels_of(bits);
  const Prefix prefix(h);
  const double total = prefix.count.back();
  int best = 0;
  double least = 0;
  auto at = [](int i) { return static_cast<std::size_t>(i); };
  for (int i = start; i < bins; ++i) {
    if (h[at(i - 1)] == 0) continue;
    double last = h[at(i - 1)] + (total - prefix.count[at(i)]);  // what lies above goes into the last bin
    int merged = i / levels;
    // Σ p ln(q_sum p) - Σ p ln(total q), where q spreads the sum of each group over its bins that are not
    // empty.
    double q_sum = 0, cross = 0;
    for (int group = 0; group < levels; ++group) {
      int from = group * merged, to = group == levels - 1 ? i : from + merged;
      double sum = prefix.count[at(to)] - prefix.count[at(from)];
      int used = prefix.used[at(to)] - prefix.used[at(from)];
      if (used == 0) continue;
      q_sum += sum;
      double p = to == i ? sum - h[at(i - 1)] + last : sum;
      cross += p * std::log(total * (sum / used));
    }
    double own = prefix.entropy[at(i - 1)] + last * std::log(last);
    double divergence = (own + total * std::log(q_sum) - cross) / total;
    if (best == 0 || divergence < least) best = i, least = divergence;
  }
  if (best != 0) return best;
  best = start;
  while (best > 0 && h[at(best)] == 0) --best;
  return best;
}

}  // namespace

double kl_threshold(const Observed& seen, const ThresholdOptions& options) {
  const Histogram histogram = seen.histogram();
  return (best_end(histogram.counts, options.bits) + 0.5) * histogram.width();
}

}  // namespace octet::quant
