#include "tasks/segmentation.h"

#include <gtest/gtest.h>

#include <cmath>

namespace octet {
namespace {

const Task& task() {
  return task_table()[1];
}

TEST(Segmentation, TakesScoresOrClassesOfPixels) {
  EXPECT_EQ(task().name, "segmentation");
  EXPECT_TRUE(task().accepts(Tensor(DType::kFloat32, {2, 5, 8, 8}), 2));
  EXPECT_TRUE(task().accepts(Tensor(DType::kInt64, {2, 8, 8}), 2));
  EXPECT_TRUE(task().accepts(Tensor(DType::kInt32, {1, 1, 8, 8}), 1));
  EXPECT_FALSE(task().accepts(Tensor(DType::kFloat32, {2, 5, 8, 8}), 1));
  EXPECT_FALSE(task().accepts(Tensor(DType::kFloat32, {2, 5}), 2));
  EXPECT_FALSE(task().accepts(Tensor(DType::kFloat32, {2, 5, 1, 1}), 2));
  EXPECT_FALSE(task().accepts(Tensor(DType::kInt64, {2, 5}), 2));
}

TEST(Segmentation, DecidesForTheBestClassOfEachPixel) {
  const Tensor scores = Tensor::of<float>({1, 3, 1, 4}, {1, 5, NAN, 2, 3, 5, NAN, NAN, 2, 4, NAN, 1});
  EXPECT_EQ(task().decide(scores), (std::vector<std::int64_t>{1, 0, -1, 0}));
  EXPECT_EQ(task().decide(Tensor::of<std::int32_t>({1, 1, 2}, {4, 2})), (std::vector<std::int64_t>{4, 2}));
}

TEST(Segmentation, AnswersWithTheLargestClasses) {
  const Tensor classes = Tensor::of<std::int64_t>({2, 1, 4}, {1, 0, 1, 1, 2, 2, 2, 2});
  const std::vector<Answer> answers =
      task().answers(classes, {"a", "b"}, {.topk = 2, .labels = {"sky", "road", "car"}});
  ASSERT_EQ(answers.size(), 3u);
  EXPECT_EQ(answers[0].label, "road");
  EXPECT_EQ(answers[0].score, 0.75f);
  EXPECT_EQ(answers[1].class_id, 0);
  EXPECT_EQ(answers[2].picture, "b");
  EXPECT_EQ(answers[2].score, 1.0f);
}

}  // namespace
}  // namespace octet
