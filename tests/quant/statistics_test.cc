#include "quant/statistics.h"

#include <gtest/gtest.h>

#include <cmath>

#include "quant/made_statistics.h"

namespace octet::quant {
namespace {

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

TEST(Histogram, AddToCountsAsNumpyDoes) {
  Histogram h{1, 3, std::vector<double>(4)};
  add_to(h, std::vector<float>{1, -1.5f, 2, 2.49f, 3, -3, 0.5f, 3.5f});
  EXPECT_EQ(h.counts, (std::vector<double>{1, 1, 2, 2}));
}

}  // namespace
}  // namespace octet::quant
