#include "metrics/class_areas.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "support/paddleseg_numbers.h"
#include "tasks/segmentation.h"

namespace octet {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pointwise;

// The values are PaddleSeg's own, for these logits and labels.
TEST(ClassAreas, EqualPaddleSeg) {
  SegmentationMetric metric({.classes = 3});
  Batch batch;
  batch.masks = testing::paddleseg_labels();
  metric.update(testing::paddleseg_logits(), batch);
  EXPECT_THAT(metric.sums(), ElementsAre(2, 3, 7, 8, 11, 17, 14, 9, 13));
  const SegmentationScores scores = metric.scores();
  const auto near = [](std::vector<double> expected) {
    return Pointwise(DoubleNear(1e-8), std::move(expected));
  };
  EXPECT_THAT(scores.iou, near({0.1, 0.17647059, 0.30434783}));
  EXPECT_THAT(scores.precision, near({0.25, 0.27272727, 0.41176471}));
  EXPECT_THAT(scores.recall, near({0.14285714, 0.33333333, 0.53846154}));
  EXPECT_THAT(scores.dice, near({0.18181818, 0.3, 0.46666667}));
  EXPECT_NEAR(scores.mean_iou, 0.19360614, 1e-8);
  EXPECT_NEAR(scores.accuracy, 0.33333333, 1e-8);
  EXPECT_NEAR(scores.kappa, 0.0, 1e-8);
  EXPECT_NEAR(scores.mean_dice, 0.31616162, 1e-8);
  EXPECT_EQ(metric.rows().at(0).key, "miou");
  EXPECT_EQ(metric.rows().at(0).value, scores.mean_iou);

  SegmentationMetric twice({.classes = 3});
  twice.merge(metric);
  twice.merge(metric);
  EXPECT_THAT(twice.sums(), ElementsAre(4, 6, 14, 16, 22, 34, 28, 18, 26));
  EXPECT_DOUBLE_EQ(twice.scores().mean_iou, scores.mean_iou);
}

TEST(ClassAreas, AClassThatIsNowhere) {
  ClassAreas areas(3);
  const std::vector<std::uint8_t> predicted = {0, 0, 1, 1}, truth = {0, 1, 1, 255};
  areas.add(predicted, truth, 255);
  EXPECT_THAT(scores_of(areas).iou, ElementsAre(0.5, 0.5, 0));
  EXPECT_THAT(scores_of(areas, 1).iou, ElementsAre(0.5, 0.5, 1));
  EXPECT_NEAR(scores_of(areas).mean_iou, 1.0 / 3, 1e-12);
  EXPECT_NEAR(scores_of(areas, 1).mean_iou, 2.0 / 3, 1e-12);
  EXPECT_THAT(scores_of(areas, 1).dice, ElementsAre(2.0 / 3, 2.0 / 3, 0));
}

TEST(ClassAreas, NothingAtAll) {
  const SegmentationScores scores = scores_of(ClassAreas(2));
  EXPECT_THAT(scores.iou, ElementsAre(0, 0));
  EXPECT_EQ(scores.mean_iou, 0);
  EXPECT_EQ(scores.accuracy, 0);
  EXPECT_EQ(scores.kappa, 0);
}

TEST(ClassAreas, AnAnswerThatIsNoneIsRightNowhere) {
  ClassAreas areas(2);
  const std::vector<std::uint8_t> predicted = {255, 1, 7}, truth = {0, 1, 0};
  areas.add(predicted, truth, 255);
  EXPECT_THAT(areas.sums(), ElementsAre(0, 1, 0, 1, 2, 1));
}

TEST(ClassAreas, AMaskWithAClassTooMuch) {
  ClassAreas areas(2);
  const std::vector<std::uint8_t> predicted = {0, 1}, truth = {0, 2};
  try {
    areas.add(predicted, truth, 255);
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("a mask has the class 2, and there are 2 classes, 0 to 1"));
  }
}

}  // namespace
}  // namespace octet
