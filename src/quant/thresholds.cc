#include "quant/thresholds.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/error.h"

namespace octet::quant {

namespace {

struct Named {
  std::string_view name;
  Algorithm algorithm;
};
constexpr std::array kNames = {Named{"KL", Algorithm::kKl},          Named{"hist", Algorithm::kHist},
                               Named{"mse", Algorithm::kMse},        Named{"emd", Algorithm::kEmd},
                               Named{"avg", Algorithm::kAvg},        Named{"abs_max", Algorithm::kAbsMax},
                               Named{"min_max", Algorithm::kMinMax}, Named{"ptf", Algorithm::kPtf},
                               Named{"auto", Algorithm::kAuto}};
constexpr int kFineBins = 8192;

constexpr std::array kAll = {Algorithm::kKl,  Algorithm::kHist,   Algorithm::kMse,    Algorithm::kEmd,
                             Algorithm::kAvg, Algorithm::kAbsMax, Algorithm::kMinMax, Algorithm::kPtf};

std::string plain(std::string_view name) {
  std::string result;
  for (char c : name)
    if (c != '_' && c != '-') result += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

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

// What mse, emd and ptf choose, from a histogram of all data in place of the elements of each batch:
// magnitudes stand at the centre of their bin, and emd looks at magnitudes.
double best_of_grid(const Histogram& h, Algorithm algorithm, double abs_max, int bits) {
  const double levels = (1 << (bits - 1)) - 1;
  double count = 0, mean = 0, power = 0;
  for (std::size_t i = 0; i < h.counts.size(); ++i) {
    double x = h.low + (static_cast<double>(i) + 0.5) * h.width();
    count += h.counts[i], mean += h.counts[i] * x, power += h.counts[i] * x * x;
  }
  mean /= count, power /= count;
  double deviation = std::sqrt(std::max(0.0, power - mean * mean));
  std::vector<double> thresholds;
  if (algorithm == Algorithm::kPtf)
    thresholds = {abs_max / 8, abs_max / 4, abs_max / 2, abs_max};
  else
    for (double s = 0.3; s <= 1.0; s += 0.02) thresholds.push_back(s * abs_max);
  double best = abs_max, best_loss = -1;
  for (double t : thresholds) {
    double squared = 0, mean_y = 0, power_y = 0;
    for (std::size_t i = 0; i < h.counts.size(); ++i) {
      if (h.counts[i] == 0) continue;
      double x = h.low + (static_cast<double>(i) + 0.5) * h.width();
      double y = std::min(std::nearbyint(x / t * levels), levels) * t / levels;
      squared += h.counts[i] * (x - y) * (x - y), mean_y += h.counts[i] * y, power_y += h.counts[i] * y * y;
    }
    mean_y /= count, power_y /= count;
    double loss = algorithm == Algorithm::kEmd
                      ? std::fabs(mean - mean_y) +
                            std::fabs(deviation - std::sqrt(std::max(0.0, power_y - mean_y * mean_y)))
                      : squared;
    if (best_loss < 0 || loss <= best_loss) best = t, best_loss = loss;
  }
  return best;
}

}  // namespace

std::string_view name_of(Algorithm algorithm) {
  for (const Named& named : kNames)
    if (named.algorithm == algorithm) return named.name;
  return "";
}

Algorithm parse_algorithm(std::string_view name) {
  std::string names;
  for (const Named& named : kNames) {
    if (plain(named.name) == plain(name)) return named.algorithm;
    names += names.empty() ? "" : ", ";
    names += named.name;
  }
  fail("--algo {}: there is no such algorithm; there are {}", name, names);
}

std::span<const Algorithm> all_algorithms() {
  return kAll;
}

KlChoice best_kl(const Histogram& histogram, int bits) {
  const std::vector<double>& h = histogram.counts;
  const int bins = static_cast<int>(h.size()), start = (bins - 1) / 2, levels = (1 << (bits - 1)) - 1;
  const Prefix prefix(h);
  const double total = prefix.count.back();
  KlChoice best;
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
    if (best.index == 0 || divergence < best.divergence) best = {i, divergence};
  }
  if (best.index == 0) {
    best.index = start;
    while (best.index > 0 && h[at(best.index)] == 0) --best.index;
  }
  return best;
}

double kl_threshold(const Histogram& histogram, int bits) {
  return (best_kl(histogram, bits).index + 0.5) * histogram.width();
}

double hist_threshold(const Histogram& histogram, double percent) {
  double total = 0, sum = 0;
  for (double count : histogram.counts) total += count;
  std::size_t k = 0;
  for (std::size_t i = 0; i < histogram.counts.size(); ++i) {
    sum += histogram.counts[i] / total;
    if (sum < percent) continue;
    k = i + 1;
    break;
  }
  return (static_cast<double>(k) - 0.5) * histogram.width();
}

double threshold_of(const TensorStatistics& s, Algorithm algorithm, const ThresholdOptions& options,
                    const Histogram* exact) {
  auto histogram = [&] {
    return exact ? *exact
                 : s.histogram.rebin(static_cast<double>(s.abs_min), static_cast<double>(s.abs_max),
                                     kCoarseBins);
  };
  double threshold = static_cast<double>(s.abs_max);
  // A tensor whose magnitudes are all the same has no histogram to speak of.
  bool constant = s.abs_min == s.abs_max;
  switch (algorithm) {
    case Algorithm::kKl:
      if (!constant) threshold = kl_threshold(histogram(), options.bits);
      break;
    case Algorithm::kHist:
      if (!constant) threshold = hist_threshold(histogram(), options.hist_percent);
      break;
    case Algorithm::kMse:
    case Algorithm::kEmd:
    case Algorithm::kPtf: {
      const BestThreshold& seen = algorithm == Algorithm::kMse   ? s.mse
                                  : algorithm == Algorithm::kEmd ? s.emd
                                                                 : s.ptf;
      if (seen.loss >= 0 && !options.by_histogram)
        threshold = seen.threshold;
      else if (!constant)
        threshold = best_of_grid(exact ? *exact : s.histogram.rebin(0, threshold, kFineBins), algorithm,
                                 threshold, options.bits);
      break;
    }
    case Algorithm::kAvg: {
      double sum = 0;
      for (const auto& [batch, average] : s.averages) sum += static_cast<double>(average);
      threshold = sum / static_cast<double>(std::max<std::size_t>(s.averages.size(), 1));
      break;
    }
    default:
      break;
  }
  return std::max(threshold, kMinThreshold);
}

}  // namespace octet::quant
