#include "tasks/confusion.h"

#include <gmock/gmock.h>

namespace octet {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Confusion counted(std::int64_t classes, const std::vector<std::int64_t>& answers,
                  const std::vector<std::int64_t>& labels) {
  Confusion confusion(classes);
  confusion.add(answers, labels);
  return confusion;
}

TEST(Confusion, CountsAnswersOfEachClass) {
  const Confusion confusion = counted(3, {0, 1, 1, -1, 2}, {0, 0, 1, 1, 2});
  EXPECT_EQ(confusion.count(0, 0), 1);
  EXPECT_EQ(confusion.count(0, 1), 1);
  EXPECT_EQ(confusion.count(1, -1), 1);
  EXPECT_EQ(confusion.pictures(1), 2);
  EXPECT_DOUBLE_EQ(confusion.accuracy(1), 0.5);
  EXPECT_EQ(confusion.only_answer(), -1);
}

TEST(Confusion, NoticesThatThereIsOneAnswerOnly) {
  EXPECT_EQ(counted(3, {1, 1, 1}, {0, 1, 2}).only_answer(), 1);
  EXPECT_EQ(counted(3, {1, 1, 2}, {0, 1, 2}).only_answer(), -1);
  EXPECT_EQ(counted(3, {1, 1, -1}, {0, 1, 2}).only_answer(), -1);
  EXPECT_EQ(counted(3, {1, 1}, {1, 1}).only_answer(), -1) << "the data has one class only";
  EXPECT_EQ(Confusion(3).only_answer(), -1);
}

TEST(Confusion, ATableHasAllCountsOfFewClasses) {
  const Confusion confusion = counted(2, {0, 1, 1}, {0, 0, 1});
  EXPECT_EQ(per_class_table(confusion, {"cat", "d|g"}),
            "| class | pictures | accuracy | as cat | as d/g |\n|---|--:|--:|--:|--:|\n"
            "| cat | 2 | 0.5000 | 1 | 1 |\n| d/g | 1 | 1.0000 | 0 | 1 |\n");
  EXPECT_THAT(per_class_table(confusion, {}), HasSubstr("| 1 | 1 | 1.0000 |"));
}

TEST(Confusion, OfManyClassesTheWorstAreShown) {
  Confusion confusion(30);
  for (std::int64_t label = 0; label < 30; ++label) {
    const std::vector<std::int64_t> answers = {label, label == 7 ? 3 : label};
    confusion.add(answers, std::vector{label, label});
  }
  const std::string table = per_class_table(confusion, {}, 10);
  EXPECT_THAT(table, HasSubstr("taken for |\n|---|--:|--:|---|\n| 7 | 2 | 0.5000 | 3 (1) |\n| 0 |"));
  EXPECT_THAT(table, Not(HasSubstr("| 20 |")));
  EXPECT_THAT(per_class_table(confusion, {}), HasSubstr("| 29 | 2 | 1.0000 | - |"));
}

TEST(Confusion, APictureHasASquareForEachCount) {
  const Image image = confusion_picture(counted(2, {0, 1, 0, 1}, {0, 0, 1, 1}));
  const Image right = confusion_picture(counted(2, {0, 0, 1, 1}, {0, 0, 1, 1}));
  const auto color = [](const Image& of, int row, int column) {
    const std::uint8_t* pixel = of.row(16 + row * 64 + 5) + 3 * (16 + column * 64 + 5);
    return std::vector<int>{pixel[0], pixel[1], pixel[2]};
  };
  EXPECT_EQ(color(image, 0, 0), (std::vector<int>{33, 145, 140}));  // a half
  EXPECT_EQ(color(image, 0, 0), color(image, 1, 0));
  EXPECT_EQ(color(right, 0, 0), (std::vector<int>{253, 231, 37}));
  EXPECT_EQ(color(right, 0, 1), (std::vector<int>{68, 1, 84}));
  EXPECT_GT(confusion_picture(Confusion(1000)).width, 1000);
}

}  // namespace
}  // namespace octet
