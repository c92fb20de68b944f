#include "quant/statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "quant/thresholds.h"
#include "support/small_models.h"

namespace octet::quant {
namespace {

using octet::testing::ramp;

std::vector<float> numbers(std::int64_t count, std::uint32_t seed, float scale) {
  Tensor tensor = ramp({count}, seed);
  std::vector<float> result(tensor.data<float>().begin(), tensor.data<float>().end());
  for (float& x : result) x *= x * x * scale;  // more small ones than large ones
  return result;
}

TensorStatistics statistics_of(const std::vector<std::vector<float>>& batches, std::int64_t first = 0,
                               int threads = 2) {
  ThreadPool pool(threads);
  TensorStatistics s;
  for (std::size_t i = 0; i < batches.size(); ++i)
    s.update(first + static_cast<std::int64_t>(i), batches[i], 4, {}, pool);
  return s;
}

std::vector<std::vector<float>> three_batches() {
  return {numbers(40000, 1, 0.3f), numbers(40000, 2, 7.0f), numbers(40000, 3, 1.5f)};
}

TEST(TensorStatistics, PartsMergeToTheWholeInAnyOrder) {
  auto batches = three_batches();
  TensorStatistics whole = statistics_of(batches, 0, 1);
  TensorStatistics a = statistics_of({batches[0]}, 0), b = statistics_of({batches[1]}, 1),
                   c = statistics_of({batches[2]}, 2);
  c.merge(a);
  c.merge(b);
  EXPECT_EQ(c.to_json(), whole.to_json());
  TensorStatistics nothing;
  nothing.merge(whole);
  EXPECT_EQ(nothing.to_json(), whole.to_json());
}

TEST(TensorStatistics, FilesKeepThem) {
  TensorStatistics whole = statistics_of(three_batches());
  EXPECT_EQ(TensorStatistics::from_json(whole.to_json()).to_json(), whole.to_json());
}

TEST(TensorStatistics, GrowingBinsCountEverything) {
  auto batches = three_batches();
  TensorStatistics s = statistics_of(batches);
  EXPECT_EQ(s.histogram.total(), 120000);
  for (float limit : {0.1f, 1.0f, 3.0f}) {
    int above = 0;
    for (const auto& batch : batches)
      for (float x : batch) above += std::fabs(x) > limit;
    EXPECT_NEAR(s.histogram.share_above(static_cast<double>(limit)) * 120000, above, 120) << limit;
  }
}

TEST(Counts, GoBeyond32Bits) {
  Counts counts(3);
  counts.set(1, (std::int64_t{1} << 32) - 1);
  counts.increment(1);
  EXPECT_EQ(counts[1], std::int64_t{1} << 32);
  counts.add(1, std::int64_t{1} << 32);
  counts.increment(1);
  EXPECT_EQ(counts[1], (std::int64_t{1} << 33) + 1);
  counts.set(1, 7);
  EXPECT_EQ(counts[1], 7);
  EXPECT_EQ(counts[0] + counts[2], 0);
}

TEST(TensorStatistics, WhatIsNotFiniteIsLeftOut) {
  ThreadPool pool(1);
  TensorStatistics s;
  s.update(0, std::vector<float>{1, NAN, -3, INFINITY}, 1, {}, pool);
  EXPECT_EQ(s.not_finite, 2);
  EXPECT_EQ(s.abs_max, 3);
  TensorStatistics bad;
  bad.update(0, std::vector<float>{NAN, NAN}, 1, {}, pool);
  EXPECT_TRUE(bad.empty());
}

TEST(TensorStatistics, ZerosAndConstantsHaveAThreshold) {
  ThreadPool pool(1);
  for (float value : {0.0f, 2.5f}) {
    TensorStatistics s;
    s.update(0, std::vector<float>(100, value), 1, {}, pool);
    for (Algorithm algorithm : all_algorithms()) {
      double t = threshold_of(s, algorithm, {});
      EXPECT_GE(t, kMinThreshold) << name_of(algorithm);
      EXPECT_LE(t, std::max(static_cast<double>(value), kMinThreshold)) << name_of(algorithm);
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
    EXPECT_DOUBLE_EQ(kl_threshold(h, 8), plain_kl(h.counts, h.width())) << seed;
  }
}

TEST(Thresholds, KlOfAlmostNothing) {
  Histogram h{0, 2.0, std::vector<double>(kCoarseBins)};
  h.counts[3] = 5;
  h.counts[kCoarseBins - 1] = 1;
  EXPECT_DOUBLE_EQ(kl_threshold(h, 8), 3.5 * h.width());  // no candidate has a bin: down to the nearest one
}

TEST(Thresholds, HistIsAPercentile) {
  Histogram h{0, 10, std::vector<double>(10, 1.0)};
  EXPECT_DOUBLE_EQ(hist_threshold(h, 0.5), 4.5);
  EXPECT_DOUBLE_EQ(hist_threshold(h, 0.95), 9.5);
}

TEST(Thresholds, AddToCountsAsNumpyDoes) {
  Histogram h{1, 3, std::vector<double>(4)};
  add_to(h, std::vector<float>{1, -1.5f, 2, 2.49f, 3, -3, 0.5f, 3.5f});
  EXPECT_EQ(h.counts, (std::vector<double>{1, 1, 2, 2}));
}

TEST(Thresholds, OnePassIsNearTwo) {
  std::vector<float> x = numbers(200000, 9, 5.0f);
  TensorStatistics s = statistics_of({x});
  Histogram exact{static_cast<double>(s.abs_min), static_cast<double>(s.abs_max),
                  std::vector<double>(kCoarseBins)};
  add_to(exact, x);
  for (Algorithm algorithm : {Algorithm::kHist, Algorithm::kKl}) {
    double two = threshold_of(s, algorithm, {}, &exact), one = threshold_of(s, algorithm, {});
    EXPECT_NEAR(one, two, 0.01 * two) << name_of(algorithm);
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
  EXPECT_NEAR(threshold_of(s, Algorithm::kMse, {}), best, 1e-9);
  ThreadPool pool(1);
  TensorStatistics only_histogram;
  only_histogram.update(0, x, 1, {.errors = false}, pool);
  EXPECT_NEAR(threshold_of(only_histogram, Algorithm::kMse, {}), best,
              0.81);  // at most a step of the grid away
}

TEST(Thresholds, NamesAreForgiving) {
  EXPECT_EQ(parse_algorithm("kl"), Algorithm::kKl);
  EXPECT_EQ(parse_algorithm("AbsMax"), Algorithm::kAbsMax);
  EXPECT_THROW(parse_algorithm("best"), Error);
}

}  // namespace
}  // namespace octet::quant
