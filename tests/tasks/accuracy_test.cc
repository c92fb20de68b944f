#include "tasks/accuracy.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace octet {
namespace {

// Pictures with these labels, and the same scores for each.
void update(Accuracy& accuracy, const std::vector<std::int64_t>& labels, const std::vector<float>& scores) {
  Batch batch;
  batch.labels = labels;
  std::vector<float> values;
  for (std::size_t i = 0; i < labels.size(); ++i) values.insert(values.end(), scores.begin(), scores.end());
  accuracy.update(Tensor::of<float>({std::ssize(labels), std::ssize(scores)}, values), batch);
}

double acc1(const Accuracy& accuracy) {
  return accuracy.rows().at(0).value;
}

double acc5(const Accuracy& accuracy) {
  return accuracy.rows().at(1).value;
}

TEST(Accuracy, CountsTheBestAndTheFiveBest) {
  Accuracy accuracy;
  EXPECT_EQ(acc1(accuracy), 0);
  update(accuracy, {0, 1, 2, 3, 4, 5, 6}, {0.1f, 0.7f, 0.2f, 0.6f, 0.5f, 0.4f, 0.3f});
  EXPECT_DOUBLE_EQ(acc1(accuracy), 1.0 / 7);
  EXPECT_DOUBLE_EQ(acc5(accuracy), 5.0 / 7);
  EXPECT_EQ(accuracy.rows()[0].key, "acc1");
  EXPECT_TRUE(accuracy.better(0.5, 0.4));
  EXPECT_FALSE(accuracy.better(0.5, 0.5));
}

TEST(Accuracy, FewerThanFiveClasses) {
  Accuracy accuracy;
  update(accuracy, {1}, {0.9f, 0.1f});
  EXPECT_EQ(acc1(accuracy), 0);
  EXPECT_EQ(acc5(accuracy), 1);
}

TEST(Accuracy, NanIsNeverRight) {
  Accuracy accuracy;
  update(accuracy, {0}, std::vector<float>(3, std::numeric_limits<float>::quiet_NaN()));
  EXPECT_EQ(acc5(accuracy), 0);
  update(accuracy, {0}, {1, 0, 0});
  EXPECT_EQ(acc5(accuracy), 0.5);
}

TEST(Accuracy, MergingIsCountingTogether) {
  const std::vector<float> scores = {0.3f, 0.2f, 0.5f, 0, 0, 0};
  Accuracy together, first, second;
  update(together, {2, 0, 5, 2}, scores);
  update(first, {2}, scores);
  update(second, {0, 5, 2}, scores);
  first.merge(second);
  EXPECT_EQ(acc1(first), acc1(together));
  EXPECT_EQ(acc5(first), acc5(together));
}

}  // namespace
}  // namespace octet
