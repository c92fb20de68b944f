#include "tasks/task.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace octet {
namespace {

TEST(Task, EveryRowIsComplete) {
  std::set<std::string_view> names;
  for (const Task& task : task_table()) {
    EXPECT_TRUE(names.insert(task.name).second) << task.name;
    EXPECT_TRUE(task.metric && task.accepts && task.decide && task.answers) << task.name;
    EXPECT_FALSE(task.model.empty() || task.output.empty()) << task.name;
    const std::unique_ptr<Metric> metric = task.metric({.classes = 2});
    ASSERT_FALSE(metric->rows().empty());
    for (const MetricRow& row : metric->rows())
      EXPECT_FALSE(row.key.empty() || row.tag.empty() || row.column.empty() || row.title.empty())
          << task.name;
  }
}

TEST(Classification, TakesRowsOfScores) {
  const Task& task = default_task();
  EXPECT_EQ(task.name, "classification");
  EXPECT_TRUE(task.accepts(Tensor(DType::kFloat32, {2, 5}), 2));
  EXPECT_TRUE(task.accepts(Tensor(DType::kFloat32, {2, 5, 1, 1}), 2));
  EXPECT_FALSE(task.accepts(Tensor(DType::kFloat32, {2, 5}), 1));
  EXPECT_FALSE(task.accepts(Tensor(DType::kFloat32, {2, 5, 8, 8}), 2));
  EXPECT_FALSE(task.accepts(Tensor(DType::kInt64, {2, 5}), 2));
}

TEST(Classification, DecidesForTheLikeliestClass) {
  const Tensor scores = Tensor::of<float>({3, 3}, {0, 2, 1, 5, 5, 0, NAN, NAN, NAN});
  EXPECT_EQ(default_task().decide(scores), (std::vector<std::int64_t>{1, 0, -1}));
}

TEST(Classification, AnswersWithProbabilities) {
  const Tensor scores = Tensor::of<float>({2, 2}, {0, 0, 0.25f, 0.75f});
  const std::vector<Answer> named =
      default_task().answers(scores, {"a.jpg", "b.jpg"}, {.topk = 2, .labels = {"cat", "dog"}});
  ASSERT_EQ(named.size(), 4u);
  EXPECT_EQ(named[0].picture, "a.jpg");
  EXPECT_EQ(named[2].picture, "b.jpg");
  EXPECT_EQ(named[0].label, named[0].class_id == 0 ? "cat" : "dog");
  EXPECT_GE(named[2].score, named[3].score);
  const std::vector<Answer> plain = default_task().answers(scores, {"a.jpg"}, {});
  ASSERT_EQ(plain.size(), 1u);
  EXPECT_EQ(plain[0].class_id, 0);
  EXPECT_FLOAT_EQ(plain[0].score, 0.5f);
  EXPECT_EQ(plain[0].label, "");
}

}  // namespace
}  // namespace octet
