#include "tasks/segmentation_inference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "support/paddleseg_numbers.h"

namespace octet {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Tensor made(Shape shape, std::uint32_t series) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < element_count(shape); ++i)
    values.push_back(static_cast<float>(testing::made_number(series, static_cast<std::uint32_t>(i))));
  return Tensor::of<float>(std::move(shape), values);
}

float at(const Tensor& x, std::int64_t c, std::int64_t y, std::int64_t w) {
  return x.data<float>()[static_cast<std::size_t>((c * x.dim(2) + y) * x.dim(3) + w)];
}

// The definition.
double bilinear(const Tensor& x, std::int64_t c, double y, double w) {
  y = std::clamp(y, 0.0, static_cast<double>(x.dim(2) - 1));
  w = std::clamp(w, 0.0, static_cast<double>(x.dim(3) - 1));
  const auto top = static_cast<std::int64_t>(y), left = static_cast<std::int64_t>(w);
  const std::int64_t below = std::min(top + 1, x.dim(2) - 1), right = std::min(left + 1, x.dim(3) - 1);
  const double v = y - static_cast<double>(top), h = w - static_cast<double>(left);
  return (1 - v) * ((1 - h) * at(x, c, top, left) + h * at(x, c, top, right)) +
         v * ((1 - h) * at(x, c, below, left) + h * at(x, c, below, right));
}

// Scores of three classes that look at one pixel each: the answer for a part is the part of the answer.
Tensor pixelwise(const Tensor& pixels) {
  EXPECT_EQ(pixels.dim(0), 1);
  return pixels;
}

TEST(SegmentationInference, PlanesAreResizedBilinearly) {
  const Tensor x = made({1, 2, 5, 7}, 1);
  for (const auto& [height, width] : {std::array<std::int64_t, 2>{11, 4}, {3, 20}, {5, 7}, {1, 1}}) {
    const Tensor y = resize_planes(x, height, width);
    ASSERT_EQ(y.shape(), (Shape{1, 2, height, width}));
    for (std::int64_t c = 0; c < 2; ++c)
      for (std::int64_t i = 0; i < height; ++i)
        for (std::int64_t j = 0; j < width; ++j)
          EXPECT_NEAR(at(y, c, i, j),
                      bilinear(x, c, (static_cast<double>(i) + 0.5) * 5 / static_cast<double>(height) - 0.5,
                               (static_cast<double>(j) + 0.5) * 7 / static_cast<double>(width) - 0.5),
                      1e-5);
  }
}

TEST(SegmentationInference, ChangesOfTheSizeAreUndoneOnTheScores) {
  // 9 x 6 was resized to 12 x 8 and padded to 16 x 10; or padded to 16 x 10 and resized to 8 x 5.
  using enum SizeChange::Kind;
  const auto best = [](const Tensor& scores) {
    std::vector<std::uint8_t> classes;
    for (std::int64_t y = 0; y < scores.dim(2); ++y)
      for (std::int64_t x = 0; x < scores.dim(3); ++x) {
        int winner = 0;
        for (int c = 1; c < 4; ++c)
          if (at(scores, c, y, x) > at(scores, winner, y, x)) winner = c;
        classes.push_back(static_cast<std::uint8_t>(winner));
      }
    return classes;
  };
  const auto part = [](const Tensor& x, std::int64_t height, std::int64_t width) {
    Tensor y(DType::kFloat32, {1, x.dim(1), height, width});
    for (std::int64_t c = 0, i = 0; c < x.dim(1); ++c)
      for (std::int64_t h = 0; h < height; ++h)
        for (std::int64_t w = 0; w < width; ++w)
          y.mutable_data<float>()[static_cast<std::size_t>(i++)] = at(x, c, h, w);
    return y;
  };
  const Tensor large = made({1, 4, 10, 16}, 2), small = made({1, 4, 5, 8}, 3);
  const std::vector<SizeChange> padded_last = {{kResized, 9, 6}, {kPadded, 12, 8}},
                                padded_first = {{kPadded, 9, 6}, {kResized, 16, 10}};
  const Mask a = classes_of(large, padded_last), b = classes_of(small, padded_first),
             c = classes_of(large, {});
  EXPECT_EQ(a.width, 9);
  EXPECT_EQ(a.height, 6);
  EXPECT_EQ(a.pixels, best(resize_planes(part(large, 8, 12), 6, 9)));
  EXPECT_EQ(b.pixels, best(part(resize_planes(small, 10, 16), 6, 9)));
  EXPECT_EQ(c.pixels, best(large));
}

TEST(SegmentationInference, TheLowerOfEqualClassesAndNoneOfNoNumbers) {
  const Tensor scores = Tensor::of<float>({1, 2, 1, 4}, {1, NAN, NAN, 0, 1, NAN, 2, 3});
  EXPECT_THAT(classes_of(scores, {}).pixels, ElementsAre(0, 255, 1, 1));
}

TEST(SegmentationInference, ClassesThatTheModelGivesItself) {
  using enum SizeChange::Kind;
  const Tensor ids = Tensor::of<std::int32_t>({1, 2, 4}, {0, 1, 2, 3, 4, 5, 6, 700});
  EXPECT_THAT(classes_of(ids, {}).pixels, ElementsAre(0, 1, 2, 3, 4, 5, 6, 255));
  const std::vector<SizeChange> changes = {{kResized, 2, 4}, {kPadded, 2, 2}};
  EXPECT_THAT(classes_of(ids, changes).pixels, ElementsAre(0, 1, 0, 1, 4, 5, 4, 5));
}

TEST(SegmentationInference, MirrorImagesAndWindowsChangeNothingForPixelwiseModels) {
  const Tensor x = made({1, 3, 13, 17}, 4);
  const std::vector<std::uint8_t> expected = classes_of(x, {}).pixels;
  for (const SegmentOptions& options :
       {SegmentOptions{.aug_eval = true, .flip_horizontal = true, .flip_vertical = true},
        SegmentOptions{.is_slide = true, .crop_size = {5, 4}, .stride = {3, 4}},
        SegmentOptions{.is_slide = true, .crop_size = {100, 4}, .stride = {100, 1}},
        SegmentOptions{.aug_eval = true,
        .flip_horizontal = true,
        .is_slide = true,
        .crop_size = {8, 8},
        .stride = {5, 5}}})
    for (Summands summands : {Summands::kProbabilities, Summands::kScores}) {
      const Tensor scores = segment(pixelwise, x, options, summands);
      EXPECT_EQ(scores.shape(), x.shape());
      EXPECT_EQ(classes_of(scores, {}).pixels, expected);
    }
}

TEST(SegmentationInference, ScalesAreAddedUp) {
  const Tensor x = made({1, 3, 8, 10}, 5);
  std::vector<Shape> seen;
  const auto model = [&](const Tensor& pixels) {
    seen.push_back(pixels.shape());
    return pixels;
  };
  const Tensor sum = segment(model, x, {.aug_eval = true, .scales = {0.5, 1, 1.75}}, Summands::kScores);
  EXPECT_EQ(seen, (std::vector<Shape>{{1, 3, 4, 5}, {1, 3, 8, 10}, {1, 3, 14, 18}}));
  const Tensor half = resize_planes(resize_planes(x, 4, 5), 8, 10),
               more = resize_planes(resize_planes(x, 14, 18), 8, 10);
  for (std::size_t i = 0; i < static_cast<std::size_t>(x.size()); ++i)
    EXPECT_NEAR(sum.data<float>()[i], half.data<float>()[i] + x.data<float>()[i] + more.data<float>()[i],
                1e-5);
  const Tensor probabilities =
      segment(model, x, {.aug_eval = true, .scales = {0.5, 2}}, Summands::kProbabilities);
  for (std::int64_t y = 0; y < 8; ++y)
    EXPECT_NEAR(at(probabilities, 0, y, 3) + at(probabilities, 1, y, 3) + at(probabilities, 2, y, 3), 2,
                1e-5);
}

std::string error_of(const SegmentOptions& options) try {
  check_segment_options(options);
  return "";
} catch (const Error& error) {
  return error.what();
}

TEST(SegmentationInference, Mistakes) {
  EXPECT_EQ(error_of({}), "");
  EXPECT_THAT(error_of({.scales = {0}}), HasSubstr("a scale of 0"));
  EXPECT_THAT(error_of({.is_slide = true}), HasSubstr("needs a crop_size and a stride"));
  EXPECT_THAT(error_of({.is_slide = true, .crop_size = {4, 4}, .stride = {4, 5}}), HasSubstr("stride of 5"));
  using enum SizeChange::Kind;
  const std::vector<SizeChange> padded = {{kPadded, 9, 9}};
  EXPECT_THROW(classes_of(made({1, 2, 4, 4}, 1), padded), Error);
  EXPECT_THROW(classes_of(made({2, 2, 4, 4}, 1), {}), Error);
  EXPECT_THROW(segment(
                   [](const Tensor&) {
                     return Tensor(DType::kInt64, {1, 4, 4});
                   },
                   made({1, 3, 4, 4}, 1), {.aug_eval = true}, Summands::kScores),
               Error);
}

}  // namespace
}  // namespace octet
