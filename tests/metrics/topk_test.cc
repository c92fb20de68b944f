#include "metrics/topk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace octet {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::int64_t> indices(const std::vector<float>& scores, std::int64_t k) {
  std::vector<std::int64_t> result;
  for (const Scored& scored : top_k(scores, k)) {
    EXPECT_EQ(testing::PrintToString(scored.score),
              testing::PrintToString(scores[static_cast<std::size_t>(scored.index)]));
    result.push_back(scored.index);
  }
  return result;
}

TEST(TopK, BestFirst) {
  EXPECT_THAT(indices({0.1f, 0.9f, -3.0f, 0.5f}, 2), ElementsAre(1, 3));
  EXPECT_THAT(indices({0.1f, 0.9f, -3.0f, 0.5f}, 10), ElementsAre(1, 3, 0, 2));
}

TEST(TopK, OfEqualScoresTheLowerIndex) {
  EXPECT_THAT(indices({1, 2, 2, 1, 2}, 4), ElementsAre(1, 2, 4, 0));
}

TEST(TopK, NanIsLast) {
  const float nan = std::numeric_limits<float>::quiet_NaN(),
              infinity = std::numeric_limits<float>::infinity();
  EXPECT_THAT(indices({nan, -infinity, nan, infinity}, 4), ElementsAre(3, 1, 0, 2));
}

TEST(TopK, NothingOfNothing) {
  EXPECT_THAT(indices({}, 3), IsEmpty());
  EXPECT_THAT(indices({1, 2}, 0), IsEmpty());
  EXPECT_THAT(indices({1, 2}, -1), IsEmpty());
}

}  // namespace
}  // namespace octet
