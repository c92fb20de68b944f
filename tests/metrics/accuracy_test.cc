#include "metrics/accuracy.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace octet {
namespace {

TEST(Accuracy, CountsTheBestAndTheFiveBest) {
  const std::vector<float> scores = {0.1f, 0.7f, 0.2f, 0.6f, 0.5f, 0.4f, 0.3f};
  Accuracy accuracy;
  EXPECT_EQ(accuracy.acc1(), 0);
  for (std::int64_t label = 0; label < 7; ++label) accuracy.update(scores, label);
  EXPECT_EQ(accuracy.samples, 7);
  EXPECT_EQ(accuracy.top1, 1);
  EXPECT_EQ(accuracy.top5, 5);
  EXPECT_DOUBLE_EQ(accuracy.acc1(), 1.0 / 7);
  EXPECT_DOUBLE_EQ(accuracy.acc5(), 5.0 / 7);
}

TEST(Accuracy, FewerThanFiveClasses) {
  Accuracy accuracy;
  accuracy.update(std::vector<float>{0.9f, 0.1f}, 1);
  EXPECT_EQ(accuracy.top1, 0);
  EXPECT_EQ(accuracy.top5, 1);
}

TEST(Accuracy, NanIsNeverRight) {
  Accuracy accuracy;
  accuracy.update(std::vector<float>(3, std::numeric_limits<float>::quiet_NaN()), 0);
  EXPECT_EQ(accuracy.samples, 1);
  EXPECT_EQ(accuracy.top5, 0);
}

}  // namespace
}  // namespace octet
