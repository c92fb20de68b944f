#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/graph_runner.h"

namespace octet {
namespace {

using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using testing::Ints;
using testing::run_node;
using testing::values;

Tensor pad_row(const std::vector<float>& numbers, const char* mode, std::int64_t left, std::int64_t right) {
  Tensor x = Tensor::of<float>({1, 1, 1, 1, static_cast<std::int64_t>(numbers.size())}, numbers);
  return run_node("pad", {x},
                  {{"paddings", Ints{left, right, 0, 0, 0, 0}}, {"mode", std::string(mode)}, {"value", 9.0}});
}

TEST(Pad, Modes) {
  EXPECT_THAT(values<float>(pad_row({1, 2, 3}, "constant", 2, 1)), ElementsAre(9, 9, 1, 2, 3, 9));
  EXPECT_THAT(values<float>(pad_row({1, 2, 3}, "reflect", 2, 2)), ElementsAre(3, 2, 1, 2, 3, 2, 1));
  EXPECT_THAT(values<float>(pad_row({1, 2, 3}, "replicate", 2, 1)), ElementsAre(1, 1, 1, 2, 3, 3));
  EXPECT_THAT(values<float>(pad_row({1, 2, 3}, "circular", 4, 1)), ElementsAre(3, 1, 2, 3, 1, 2, 3, 1));
  EXPECT_THAT(values<float>(pad_row({1, 2, 3}, "constant", -1, 1)), ElementsAre(2, 3, 9));
}

TEST(Pad, EachDimensionHasItsPair) {
  Tensor x = Tensor::of<float>({1, 1, 1, 1, 1}, {5});
  Tensor y = run_node("pad", {x}, {{"paddings", Ints{1, 0, 0, 2, 1, 0}}});
  EXPECT_EQ(y.shape(), (Shape{1, 1, 2, 3, 2}));
  EXPECT_THAT(values<float>(y), ElementsAre(0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0));
  Tensor amounts = Tensor::of<std::int32_t>({6}, {0, 1, 0, 0, 0, 0});
  EXPECT_THAT(values<float>(run_node("pad", {x, amounts})), ElementsAre(5, 0));
}

TEST(Pad, ImagesOfFourDimensions) {
  Tensor x = Tensor::of<float>({1, 2, 1, 1}, {5, 6});
  EXPECT_THAT(values<float>(run_node("pad", {x}, {{"paddings", Ints{0, 1, 0, 0}}})), ElementsAre(5, 0, 6, 0));
  EXPECT_THAT(values<float>(run_node("pad", {x}, {{"paddings", Ints{0, 1, 0, 0, 0, 0}}}, 2)),
              ElementsAre(5, 0, 6, 0));
}

TEST(Pad, RefusesNonsense) {
  EXPECT_THAT(error_of([] { pad_row({1, 2}, "reflect", 2, 0); }), HasSubstr("not smaller"));
  EXPECT_THAT(error_of([] { pad_row({1, 2}, "constant", -1, -1); }), HasSubstr("cannot be padded"));
  EXPECT_THAT(error_of([] { pad_row({1, 2}, "constant", 1 << 20, 0); }), HasSubstr("holds 1048576"));
  EXPECT_THAT(error_of([] { pad_row({1, 2}, "mirror", 1, 0); }), HasSubstr("mode"));
}

TEST(RefPad, AnyRankAndDtype) {
  Tensor x = Tensor::of<std::int32_t>({2}, {1, 2}), seven = Tensor::scalar<std::int32_t>(7);
  EXPECT_THAT(values<std::int32_t>(run_node("pad", {x, Tensor(), seven}, {{"paddings", Ints{1, 2}}})),
              ElementsAre(7, 1, 2, 7, 7));
  EXPECT_THAT(values<std::int32_t>(run_node("pad", {x}, {{"paddings", Ints{2, -1}}, {"mode", "circular"}})),
              ElementsAre(1, 2, 1));
  Tensor images = Tensor::of<float>({1, 1, 1, 1}, {5});
  Tensor y = run_node("pad", {images}, {{"paddings", Ints{0, 0, 0, 0, 1, 0, 0, 1}}});
  EXPECT_EQ(y.shape(), (Shape{2, 2, 1, 1})) << "channels and images, too";
  EXPECT_THAT(values<float>(y), ElementsAre(0, 5, 0, 0));
  EXPECT_THROW(run_node("pad", {x}, {{"paddings", Ints{1, 1, 1, 1}}}), Error) << "there is one dimension";
}

}  // namespace
}  // namespace octet
