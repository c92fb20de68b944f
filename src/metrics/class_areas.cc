#include "metrics/class_areas.h"

#include <array>
#include <numeric>

#include "base/error.h"

namespace octet {

namespace {

double sum_of(std::span<const double> numbers) {
  return std::accumulate(numbers.begin(), numbers.end(), 0.0);
}

double mean_of(const std::vector<double>& numbers) {
  return numbers.empty() ? 0 : sum_of(numbers) / static_cast<double>(numbers.size());
}

double ratio(double a, double b, double otherwise = 0) {
  return b == 0 ? otherwise : a / b;
}

}  // namespace

void ClassAreas::add(std::span<const std::uint8_t> predicted, std::span<const std::uint8_t> truth,
                     std::uint8_t ignored) {
  check(predicted.size() == truth.size(), "there is a prediction for each pixel");
  constexpr std::size_t kValues = 256;
  std::array<std::int64_t, kValues> both{}, of_predicted{}, of_truth{};
  for (std::size_t i = 0; i < truth.size(); ++i) {
    if (truth[i] == ignored) continue;
    ++of_predicted[predicted[i]];
    ++of_truth[truth[i]];
    both[truth[i]] += predicted[i] == truth[i];
  }
  for (auto value = static_cast<std::size_t>(classes_); value < kValues; ++value)
    if (of_truth[value] > 0)
      fail("a mask has the class {}, and there are {} classes, 0 to {}; pixels that don't count have {}",
           value, classes_, classes_ - 1, ignored);
  const auto classes = static_cast<std::size_t>(classes_);
  for (std::size_t c = 0; c < std::min(classes, kValues); ++c) {
    sums_[c] += static_cast<double>(both[c]);
    sums_[classes + c] += static_cast<double>(of_predicted[c]);
    sums_[2 * classes + c] += static_cast<double>(of_truth[c]);
  }
}

SegmentationScores scores_of(const ClassAreas& areas, double absent_iou) {
  const std::span<const double> both = areas.intersection(), predicted = areas.predicted(),
                                truth = areas.truth();
  SegmentationScores scores;
  const double total = sum_of(truth);
  double expected = 0;  // agreement by chance
  for (std::size_t c = 0; c < both.size(); ++c) {
    scores.iou.push_back(ratio(both[c], predicted[c] + truth[c] - both[c], absent_iou));
    scores.precision.push_back(ratio(both[c], predicted[c]));
    scores.recall.push_back(ratio(both[c], truth[c]));
    scores.dice.push_back(ratio(2 * both[c], predicted[c] + truth[c]));
    expected += ratio(predicted[c], total) * ratio(truth[c], total);
  }
  scores.mean_iou = mean_of(scores.iou);
  scores.mean_dice = mean_of(scores.dice);
  scores.accuracy = ratio(sum_of(both), sum_of(predicted));
  scores.kappa = ratio(ratio(sum_of(both), total) - expected, 1 - expected);
  return scores;
}

}  // namespace octet
