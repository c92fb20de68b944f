#include "train/segmentation_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace octet::train {
namespace {

using ::testing::ElementsAre;

TEST(SegmentationLog, StepsAsPaddleSegPrintsThem) {
  EXPECT_EQ(step_line({.epoch = 1,
                       .iteration = 10,
                       .iterations = 1000,
                       .loss = 2.72394,
                       .learning_rate = 0.0099191,
                       .batch_cost = 0.21009,
                       .reader_cost = 0.053151,
                       .samples_per_second = 19.03861}),
            "[TRAIN] epoch: 1, iter: 10/1000, loss: 2.7239, lr: 0.009919, batch_cost: 0.2101, reader_cost: "
            "0.05315, "
            "ips: 19.0386 samples/sec | ETA 00:03:27");
  EXPECT_EQ(duration(0.99), "00:00:00");
  EXPECT_EQ(duration(3600 * 123 + 61), "123:01:01");
}

TEST(SegmentationLog, PrefixesOfTheVersions) {
  ::setenv("TZ", "UTC", 1);
  ::tzset();
  EXPECT_EQ(log_prefix(PaddleSeg::k2_2, 1627576891), "2021-07-29 16:41:31 [INFO]\t");
  EXPECT_EQ(log_prefix(PaddleSeg::k2_9, 1715805502), "[2024/05/15 20:38:22] INFO: ");
}

TEST(SegmentationLog, EvaluationsAsPaddleSegPrintsThem) {
  const SegmentationScores scores{.iou = {0.99408, 0.7112},
                                  .precision = {0.99592, 0.8886},
                                  .recall = {0.5, 1},
                                  .dice = {},
                                  .mean_iou = 0.85264,
                                  .mean_dice = 0.9585,
                                  .accuracy = 0.99421,
                                  .kappa = 0.82833};
  EXPECT_EQ(start_line(76), "Start evaluating (total_samples: 76, total_iters: 76)...");
  EXPECT_THAT(evaluation_lines(scores, 76, PaddleSeg::k2_2),
              ElementsAre("[EVAL] #Images: 76 mIoU: 0.8526 Acc: 0.9942 Kappa: 0.8283 ",
                          "[EVAL] Class IoU: \n[0.9941 0.7112]", "[EVAL] Class Acc: \n[0.9959 0.8886]"));
  EXPECT_THAT(evaluation_lines(scores, 76, PaddleSeg::k2_9),
              ElementsAre("[EVAL] #Images: 76 mIoU: 0.8526 Acc: 0.9942 Kappa: 0.8283 Dice: 0.9585",
                          "[EVAL] Class IoU: \n[0.9941 0.7112]", "[EVAL] Class Precision: \n[0.9959 0.8886]",
                          "[EVAL] Class Recall: \n[0.5 1. ]"));
  EXPECT_EQ(best_line(0.8526, 1000),
            "[EVAL] The model with the best validation mIoU (0.8526) was saved at iter 1000.");
}

// What NumPy 2.2 prints for np.round(numbers, 4).
TEST(SegmentationLog, ListsAsNumPyPrintsThem) {
  const auto list = [](const std::vector<double>& numbers) { return number_list(numbers); };
  EXPECT_EQ(list({1, 0.5, 0.1234}), "[1.     0.5    0.1234]");
  EXPECT_EQ(list({0, 0}), "[0. 0.]");
  EXPECT_EQ(list({0.99412, 0.7}), "[0.9941 0.7   ]");
  EXPECT_EQ(list({}), "[]");
  std::vector<double> many;
  for (int i = 0; i < 23; ++i) many.push_back((i / 23.0 + 0.1001) / 1.2);
  EXPECT_EQ(list(many),
            "[0.0834 0.1196 0.1559 0.1921 0.2283 0.2646 0.3008 0.337  0.3733 0.4095\n"
            " 0.4457 0.482  0.5182 0.5544 0.5907 0.6269 0.6631 0.6994 0.7356 0.7718\n"
            " 0.8081 0.8443 0.8805]");
}

}  // namespace
}  // namespace octet::train
