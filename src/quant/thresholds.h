#pragma once
#include <optional>
#include <string_view>

#include "quant/statistics.h"

// From statistics to the largest magnitude that is represented (Paddle's "scale", our abs_max). The formulas
// are PaddleSlim's; docs/ptq-algorithms.md has them.
namespace octet::quant {

enum class Algorithm : std::uint8_t { kKl, kHist, kMse, kEmd, kAvg, kAbsMax, kMinMax, kPtf, kAuto };

std::string_view name_of(Algorithm algorithm);
// By any spelling of the name ("KL", "abs_max", "absmax"); fails with the names that there are.
Algorithm parse_algorithm(std::string_view name);
// All but auto.
std::span<const Algorithm> all_algorithms();

// The index of the best bin end for KL, and the divergence there.
struct KlChoice {
  int index = 0;
  double divergence = 0;
};
KlChoice best_kl(const Histogram& histogram, int bits);

double kl_threshold(const Histogram& histogram, int bits);
double hist_threshold(const Histogram& histogram, double percent);

struct ThresholdOptions {
  int bits = 8;
  double hist_percent = 0.9999;
  bool by_histogram = false;  // mse, emd and ptf, too, even where their own statistics were kept
};

// The smallest threshold there is: what was always zero gets it.
constexpr double kMinThreshold = 1e-8;

// `algorithm` is not auto. mse, emd and ptf are found from the histogram where their own statistics were not
// kept. `exact`, where it is not null, is the histogram of a second pass.
double threshold_of(const TensorStatistics& statistics, Algorithm algorithm, const ThresholdOptions& options,
                    const Histogram* exact = nullptr);

}  // namespace octet::quant
