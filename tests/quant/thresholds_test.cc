#include "quant/thresholds/thresholds.h"

#include <gmock/gmock.h>

#include <cmath>
#include <numeric>
#include <set>

#include "quant/made_statistics.h"
#include "support/graph_runner.h"

namespace octet::quant {
namespace {

double by(const char* name, const Observed& seen, const ThresholdOptions& options = {}) {
  return threshold_of(seen, *find_threshold_method(name), options);
}

// Of a histogram alone, as of a second pass.
double by(const char* name, const Histogram& histogram, const ThresholdOptions& options = {}) {
  TensorStatistics s;
  s.abs_max = static_cast<float>(histogram.high);
  s.abs_min = static_cast<float>(histogram.low);
  return by(name, {s, &histogram}, options);
}

TEST(Thresholds, ZerosAndConstantsHaveAThreshold) {
  ThreadPool pool(1);
  for (float value : {0.0f, 2.5f}) {
    TensorStatistics s;
    s.update(0, std::vector<float>(100, value), 1, {}, pool);
    for (const ThresholdMethod& method : threshold_methods()) {
      double t = threshold_of({s}, method, {});
      EXPECT_GE(t, kMinThreshold) << method.name;
      EXPECT_LE(t, std::max(static_cast<double>(value), kMinThreshold)) << method.name;
    }
  }
}

// The definitions, written down as they are in PaddleSlim, with no shortcut.
double plain_kl(const std::vector<double>& hist, double width) {
  const int bins = static_cast<int>(hist.size()), levels = 127;
  double total = std::accumulate(hist.begin(), hist.end(), 0.0), best = 0;
  int index = 0;
  for (int i = (bins - 1) / 2; i < bins; ++i) {
    std::vector<double> p(hist.begin(), hist.begin() + i), q(p.size());
    if (p.back() == 0) continue;
    p.back() += std::accumulate(hist.begin() + i, hist.end(), 0.0);
    int merged = i / levels;
    for (int g = 0; g < levels; ++g) {
      int from = g * merged, to = g == levels - 1 ? i : from + merged, used = 0;
      double sum = 0;
      for (int k = from; k < to; ++k)
        sum += hist[static_cast<std::size_t>(k)], used += p[static_cast<std::size_t>(k)] != 0;
      for (int k = from; k < to; ++k)
        if (p[static_cast<std::size_t>(k)] != 0) q[static_cast<std::size_t>(k)] = sum / used;
    }
    double q_sum = std::accumulate(q.begin(), q.end(), 0.0), a = 0, b = 0;
    for (std::size_t k = 0; k < p.size(); ++k)
      if (p[k] != 0) a += p[k] * std::log(q_sum * p[k]), b += p[k] * std::log(total * q[k]);
    double kl = (a - b) / total;
    if (index == 0 || kl < best) index = i, best = kl;
  }
  return (index + 0.5) * width;
}

TEST(Thresholds, KlIsTheDefinition) {
  for (std::uint32_t seed : {4u, 5u, 6u}) {
    std::vector<float> x = numbers(30000, seed, 4.0f);
    Histogram h{0, 4.0, std::vector<double>(kCoarseBins)};
    add_to(h, x);
    EXPECT_DOUBLE_EQ(by("KL", h), plain_kl(h.counts, h.width())) << seed;
  }
}

TEST(Thresholds, KlOfAlmostNothing) {
  Histogram h{0, 2.0, std::vector<double>(kCoarseBins)};
  h.counts[3] = 5;
  h.counts[kCoarseBins - 1] = 1;
  EXPECT_DOUBLE_EQ(by("KL", h), 3.5 * h.width());  // no candidate has a bin: down to the nearest one
}

TEST(Thresholds, HistIsAPercentile) {
  Histogram h{0, 10, std::vector<double>(10, 1.0)};
  EXPECT_DOUBLE_EQ(by("hist", h, {.hist_percent = 0.5}), 4.5);
  EXPECT_DOUBLE_EQ(by("hist", h, {.hist_percent = 0.95}), 9.5);
}

TEST(Thresholds, OnePassIsNearTwo) {
  std::vector<float> x = numbers(200000, 9, 5.0f);
  TensorStatistics s = statistics_of({x});
  Histogram exact{static_cast<double>(s.abs_min), static_cast<double>(s.abs_max),
                  std::vector<double>(kCoarseBins)};
  add_to(exact, x);
  for (const char* name : {"hist", "KL"}) {
    double two = by(name, {s, &exact}), one = by(name, {s});
    EXPECT_NEAR(one, two, 0.01 * two) << name;
  }
}

TEST(Thresholds, MseIsTheBestOfTheGrid) {
  std::vector<float> x = numbers(20000, 11, 2.0f);
  x[7] = 40;  // an outlier
  TensorStatistics s = statistics_of({x});
  double best = 0, least = 1e30;
  for (double f = 0.3; f <= 1.0; f += 0.02) {
    double t = f * 40, loss = 0;
    for (float v : x) {
      double y = std::clamp(std::nearbyint(static_cast<double>(v) / t * 127), -128.0, 127.0) / 127 * t;
      loss += (static_cast<double>(v) - y) * (static_cast<double>(v) - y);
    }
    if (loss <= least) least = loss, best = t;
  }
  EXPECT_NEAR(by("mse", {s}), best, 1e-9);
  ThreadPool pool(1);
  TensorStatistics only_histogram;
  only_histogram.update(0, x, 1, {.errors = false}, pool);
  EXPECT_NEAR(by("mse", {only_histogram}), best,
              0.81);  // at most a step of the grid away
}

// emd compares means and deviations; the plain definition, in double.
TEST(Thresholds, EmdIsTheBestOfTheGrid) {
  std::vector<float> x = numbers(20000, 12, 2.0f);
  TensorStatistics s = statistics_of({x});
  auto moments = [](const std::vector<double>& y) {
    double sum = 0, squares = 0;
    for (double v : y) sum += v, squares += v * v;
    const double mean = sum / static_cast<double>(y.size());
    return std::pair{mean, std::sqrt(squares / static_cast<double>(y.size()) - mean * mean)};
  };
  auto loss = [&](double t) {
    std::vector<double> rounded;
    for (float v : x)
      rounded.push_back(std::clamp(std::nearbyint(static_cast<double>(v) / t * 127), -128.0, 127.0) / 127 *
                        t);
    auto [mean, deviation] = moments({x.begin(), x.end()});
    auto [mean_y, deviation_y] = moments(rounded);
    return std::fabs(mean - mean_y) + std::fabs(deviation - deviation_y);
  };
  double least = 1e30;
  for (double f : grid_fractions()) least = std::min(least, loss(f * static_cast<double>(s.abs_max)));
  EXPECT_NEAR(loss(by("emd", {s})), least, 1e-6);
}

TEST(Thresholds, PtfIsAPowerOfTwoOfTheLargestMagnitude) {
  std::vector<float> narrow(10000, 0.5f), wide = numbers(10000, 4, 1.0f);
  narrow[3] = 4;  // what it costs to clip it is less than what it costs everyone else not to
  for (float& v : narrow) v *= 0.99f;
  for (float& v : wide) v = std::fabs(v);
  EXPECT_EQ(by("ptf", {statistics_of({narrow})}, {.bits = 8}), 4 * 0.99f);
  ThreadPool pool(1);
  TensorStatistics few_bits;
  few_bits.update(0, narrow, 1, {.bits = 2}, pool);
  EXPECT_EQ(by("ptf", {few_bits}, {.bits = 2}), 0.5 * static_cast<double>(0.99f));
  const double t = by("ptf", {statistics_of({wide})}),
               largest = static_cast<double>(statistics_of({wide}).abs_max);
  EXPECT_TRUE(t == largest || t == largest / 2 || t == largest / 4 || t == largest / 8) << t;
}

TEST(Thresholds, RangesAreOfAllBatches) {
  const std::vector<float> a = {1, -2, 3, 0, 1, 1, 1, -1}, b = {4, 0, 0, 0, 0, 0, 0, -8};
  TensorStatistics s = statistics_of({a, b});  // of four samples each
  EXPECT_EQ(by("abs_max", {s}), 8);
  EXPECT_EQ(by("min_max", {s}), 8);
  EXPECT_EQ(by("avg", {s}), ((2 + 3 + 1 + 1) / 4.0 + (4 + 0 + 0 + 8) / 4.0) / 2);
}

TEST(Thresholds, EveryRowHasAThresholdWithinTheRange) {
  TensorStatistics s = statistics_of({numbers(5000, 1, 2.0f), numbers(5000, 2, 3.0f)});
  for (const ThresholdMethod& method : threshold_methods())
    for (bool by_histogram : {false, true}) {
      const double t = threshold_of({s}, method, {.by_histogram = by_histogram});
      EXPECT_GT(t, 0.1 * static_cast<double>(s.abs_max)) << method.name;
      EXPECT_LE(t, 1.001 * static_cast<double>(s.abs_max)) << method.name;
    }
}

TEST(Thresholds, NamesAreForgiving) {
  EXPECT_EQ(find_threshold_method("kl")->name, "KL");
  EXPECT_EQ(find_threshold_method("AbsMax")->name, "abs_max");
  EXPECT_EQ(find_threshold_method("Auto"), nullptr);
  EXPECT_THAT(octet::testing::error_of([] { find_threshold_method("best"); }),
              ::testing::AllOf(::testing::HasSubstr("algo best"), ::testing::HasSubstr("ptf, auto")));
}

TEST(Thresholds, EachNameIsThereOnce) {
  std::set<std::string_view> names;
  for (const ThresholdMethod& method : threshold_methods()) EXPECT_TRUE(names.insert(method.name).second);
  EXPECT_EQ(names.size(), 8u);
}

}  // namespace
}  // namespace octet::quant
