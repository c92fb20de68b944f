#include "quant/thresholds/thresholds.h"

#include <algorithm>
#include <cctype>
#include <string>

#include "base/error.h"

namespace octet::quant {

// One file a method, or a few that are alike.
using Find = double(const Observed& seen, const ThresholdOptions& options);
Find kl_threshold, hist_threshold, mse_threshold, emd_threshold, avg_threshold, abs_max_threshold,
    ptf_threshold;

namespace {

constexpr ThresholdMethod kMethods[] = {
    {"KL", Statistic::kHistogram, kl_threshold},       {"hist", Statistic::kHistogram, hist_threshold},
    {"mse", Statistic::kErrors, mse_threshold},        {"emd", Statistic::kErrors, emd_threshold},
    {"avg", Statistic::kRange, avg_threshold},         {"abs_max", Statistic::kRange, abs_max_threshold},
    {"min_max", Statistic::kRange, abs_max_threshold},  // the same: scales are symmetric
    {"ptf", Statistic::kErrors, ptf_threshold},
};

std::string plain(std::string_view name) {
  std::string result;
  for (char c : name)
    if (c != '_' && c != '-') result += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

}  // namespace

std::span<const ThresholdMethod> threshold_methods() {
  return kMethods;
}

const ThresholdMethod* find_threshold_method(std::string_view name) {
  std::string names;
  for (const ThresholdMethod& method : kMethods) {
    if (plain(method.name) == plain(name)) return &method;
    names += fmt::format("{}, ", method.name);
  }
  if (plain(name) == "auto") return nullptr;
  fail("algo {}: there is no such algorithm; there are {}auto", name, names);
}

Histogram Observed::histogram() const {
  if (second_pass) return *second_pass;
  return statistics.histogram.rebin(static_cast<double>(statistics.abs_min), abs_max(), kCoarseBins);
}

double threshold_of(const Observed& seen, const ThresholdMethod& method, const ThresholdOptions& options) {
  const bool nothing_to_see = method.needs == Statistic::kHistogram && seen.is_constant();
  return std::max(nothing_to_see ? seen.abs_max() : method.find(seen, options), kMinThreshold);
}

}  // namespace octet::quant
