#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/graph_runner.h"

namespace octet {
namespace {

using ::testing::ElementsAre;
using testing::run_node;
using testing::values;

Tensor row(const std::vector<float>& numbers) {
  return Tensor::of<float>({1, 1, 1, static_cast<std::int64_t>(numbers.size())}, numbers);
}

Attrs to_width(std::int64_t width, const char* mode, bool align_corners = false,
               std::int64_t align_mode = 1) {
  return {{"out_h", std::int64_t{1}},
          {"out_w", width},
          {"mode", std::string(mode)},
          {"align_corners", align_corners},
          {"align_mode", align_mode}};
}

TEST(Resize, NearestRoundsDown) {
  EXPECT_THAT(values<float>(run_node("resize", {row({1, 2, 3})}, to_width(6, "nearest"))),
              ElementsAre(1, 1, 2, 2, 3, 3));
  EXPECT_THAT(values<float>(run_node("resize", {row({1, 2, 3, 4, 5})}, to_width(3, "nearest"))),
              ElementsAre(1, 2, 4));
}

TEST(Resize, NearestWithAlignedCornersRoundsToTheNearest) {
  EXPECT_THAT(values<float>(run_node("resize", {row({1, 2, 3})}, to_width(5, "nearest", true))),
              ElementsAre(1, 2, 2, 3, 3));
}

TEST(Resize, Bilinear) {
  Tensor x = row({0, 10, 20});
  EXPECT_THAT(values<float>(run_node("resize", {x}, to_width(6, "bilinear"))),
              ElementsAre(0, 5, 10, 15, 20, 20));
  EXPECT_THAT(values<float>(run_node("resize", {x}, to_width(6, "bilinear", false, 0))),
              ElementsAre(0, 2.5, 7.5, 12.5, 17.5, 20));
  EXPECT_THAT(values<float>(run_node("resize", {x}, to_width(5, "bilinear", true))),
              ElementsAre(0, 5, 10, 15, 20));
}

TEST(Resize, BilinearInBothDirections) {
  Tensor x = Tensor::of<float>({1, 1, 2, 2}, {0, 4, 8, 12});
  Attrs attrs = {{"mode", std::string("bilinear")},
                 {"align_corners", true},
                 {"out_h", std::int64_t{3}},
                 {"out_w", std::int64_t{3}}};
  EXPECT_THAT(values<float>(run_node("resize", {x}, attrs, 2)), ElementsAre(0, 2, 4, 4, 6, 8, 8, 10, 12));
}

TEST(ResizeArgMax, IsTheLargestChannelOfEachPixelAndTheFirstOfEqualOnes) {
  // 0 4 8 and 6 5 4 and 0 4 8 again, at steps of a half.
  Tensor x = Tensor::of<float>({1, 3, 1, 3}, {0, 4, 8, 6, 5, 4, 0, 4, 8});
  EXPECT_THAT(values<std::int64_t>(run_node("resize_arg_max", {x}, to_width(5, "bilinear", true))),
              ElementsAre(1, 1, 1, 0, 0));
  EXPECT_THAT(values<std::int64_t>(run_node("resize_arg_max", {x}, to_width(6, "nearest"))),
              ElementsAre(1, 1, 1, 1, 0, 0));
}

TEST(Resize, OneOutputIsTheFirstInput) {
  // Paddle's ratio is 0 then, whatever the mode.
  for (std::int64_t align_mode : {0, 1})
    EXPECT_THAT(
        values<float>(run_node("resize", {row({7, 8, 9})}, to_width(1, "bilinear", false, align_mode))),
        ElementsAre(7));
}

TEST(Resize, TheSourcesOfTheSizeHaveAnOrder) {
  Tensor x = row({0, 10});
  Tensor one = Tensor::of<std::int32_t>({1}, {1}), three = Tensor::of<std::int32_t>({1}, {3});
  Tensor size4 = Tensor::of<std::int32_t>({2}, {1, 4});
  Tensor factors = Tensor::of<float>({2}, {1, 2.5});
  Attrs attrs = to_width(7, "nearest");
  EXPECT_EQ(run_node("resize", {x, size4, factors, one, three}, attrs).dim(3), 3);
  EXPECT_EQ(run_node("resize", {x, size4, factors}, attrs).dim(3), 4);
  EXPECT_EQ(run_node("resize", {x, Tensor(), factors}, attrs).dim(3), 5);
  attrs["scale"] = std::vector<double>{1, 3};
  EXPECT_EQ(run_node("resize", {x}, attrs).dim(3), 6);
  attrs["scale"] = std::vector<double>{};
  EXPECT_EQ(run_node("resize", {x}, attrs).dim(3), 7);
}

TEST(Resize, AFactorDecidesTheRatio) {
  // 5 columns by 1.5 are 7; the ratio is 1/1.5, not 5/7.
  Attrs attrs = {{"scale", std::vector<double>{1, 1.5}}};
  EXPECT_THAT(values<float>(run_node("resize", {row({0, 1, 2, 3, 4})}, attrs)),
              ElementsAre(0, 0, 1, 2, 2, 3, 4));
  // Equal sizes are a copy, although the ratio would be 1/1.2.
  attrs["scale"] = std::vector<double>{1, 1.2};
  EXPECT_THAT(values<float>(run_node("resize", {row({0, 1, 2, 3})}, attrs)), ElementsAre(0, 1, 2, 3));
}

TEST(Resize, AFactorAndASizeAtOddsStayInTheImage) {
  Tensor size = Tensor::of<std::int32_t>({2}, {1, 6});
  for (const char* mode : {"nearest", "bilinear"}) {
    Attrs attrs = {{"scale", std::vector<double>{1, 1}}, {"mode", std::string(mode)}};
    EXPECT_THAT(values<float>(run_node("resize", {row({1, 2, 3}), size}, attrs)),
                ElementsAre(1, 2, 3, 3, 3, 3));
  }
}

TEST(RefResize, CoordinatesOfOnnx) {
  Tensor x = Tensor::of<float>({1, 1, 1, 4}, {1, 2, 3, 4});
  auto resize = [&](Attrs attrs) {
    attrs["scale"] = std::vector<double>{1, 0.6};
    return values<float>(run_node("resize", {x}, attrs));
  };
  auto near = [](std::vector<float> expected) {
    return ::testing::Pointwise(::testing::FloatNear(1e-5f), expected);
  };
  // The node tests of ONNX.
  EXPECT_THAT(resize({{"mode", "bilinear"}, {"coordinates", "half_pixel"}}), near({1.3333334f, 3.0f}));
  EXPECT_THAT(resize({{"mode", "bilinear"}, {"coordinates", "align_corners"}}), near({1.0f, 3.142857f}));
  EXPECT_THAT(resize({{"mode", "bilinear"}, {"coordinates", "half_pixel_symmetric"}}),
              near({1.6666667f, 3.3333333f}));
  EXPECT_THAT(resize({{"mode", "nearest"}, {"coordinates", "asymmetric"}, {"nearest", "floor"}}),
              near({1, 2}));
  EXPECT_THAT(resize({{"mode", "nearest"}, {"coordinates", "asymmetric"}, {"nearest", "ceil"}}),
              near({1, 3}));
  EXPECT_THAT(resize({{"mode", "nearest"}, {"coordinates", "half_pixel"}}), near({1, 3}));
  EXPECT_THROW(resize({{"coordinates", "crop"}}), Error);
}

}  // namespace
}  // namespace octet
