#include "data/classification.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "data/transforms/channels.h"
#include "data/transforms/fit.h"
#include "data/transforms/resize.h"
#include "octet/error.h"
#include "support/pictures.h"
#include "support/transformed.h"

namespace octet {
namespace {

using testing::HasSubstr;

template <class Function>
std::string error_of(Function function) {
  try {
    function();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

Image resize_and_crop(const Image& image, int resize, int crop,
                      Interpolation interpolation = Interpolation::kBilinear) {
  return transformed_pixels({.image = image}, evaluation_transforms(resize, crop, interpolation)).image;
}

TEST(EvaluationTransforms, NormalizesIntoPlanes) {
  Image image(2, 1);
  image.pixels = {0, 51, 255, 255, 102, 0};
  const Tensor tensor = transformed(image, evaluation_transforms(0, 0));
  EXPECT_EQ(tensor.shape(), (Shape{1, 3, 1, 2}));
  const auto value = [&](float pixel, std::size_t channel) {
    return (pixel / 255.0f - kImageNetColors.mean[channel]) / kImageNetColors.std[channel];
  };
  EXPECT_THAT(tensor.data<float>(), testing::ElementsAre(value(0, 0), value(255, 0), value(51, 1),
                                                         value(102, 1), value(255, 2), value(0, 2)));
}

TEST(EvaluationTransforms, ShortSideIsExactAndLongSideRoundsDown) {
  const auto size = [&](int width, int height) {
    const Image image = resize_and_crop(Image(width, height), 8, 0);
    return std::pair(image.width, image.height);
  };
  EXPECT_EQ(size(16, 31), std::pair(8, 15));  // 15.5
  EXPECT_EQ(size(31, 16), std::pair(15, 8));
  EXPECT_EQ(size(7, 7), std::pair(8, 8));
  EXPECT_EQ(size(1, 1000), std::pair(8, 8000));
  EXPECT_EQ(size(8, 11), std::pair(8, 11));
}

// Where the crop begins: round((size - crop) / 2) of Python, which takes the even neighbour of a half.
TEST(EvaluationTransforms, CropsTheCenter) {
  const Image image = test_image(20, 21);
  for (auto [crop, left, top] : {std::tuple{20, 0, 0}, {19, 0, 1}, {18, 1, 2}, {17, 2, 2}, {1, 10, 10}}) {
    const Image cropped = resize_and_crop(image, 0, crop);
    ASSERT_EQ(cropped.width, crop);
    ASSERT_EQ(cropped.height, crop);
    EXPECT_TRUE(std::equal(cropped.row(0), cropped.row(0) + 3, image.row(top) + 3 * left)) << "crop " << crop;
  }
}

TEST(EvaluationTransforms, ASmallPictureGetsABlackBorder) {
  Image image(2, 3);
  std::fill(image.pixels.begin(), image.pixels.end(), 9);
  const Image cropped = resize_and_crop(image, 0, 5);
  // round(-1.5) = -2 columns and -1 row.
  for (int y = 0; y < 5; ++y)
    for (int x = 0; x < 5; ++x) {
      const bool inside = x >= 2 && x < 4 && y >= 1 && y < 4;
      EXPECT_EQ(cropped.row(y)[3 * x], inside ? 9 : 0) << x << ", " << y;
    }
}

TEST(EvaluationTransforms, CropOfResizedIsThatPartOfTheWhole) {
  const Image image = test_image(90, 61);
  for (auto interpolation : {Interpolation::kNearest, Interpolation::kBilinear, Interpolation::kOpenCV}) {
    const Image whole = resize(image, 47, 32, interpolation);
    const Image cropped = resize_and_crop(image, 32, 28, interpolation);
    for (int y = 0; y < 28; ++y)
      EXPECT_TRUE(std::equal(cropped.row(y), cropped.row(y) + cropped.stride(), whole.row(y + 2) + 3 * 10));
  }
}

TEST(EvaluationTransforms, ElongatedPicturesAreCroppedOrRefused) {
  EXPECT_EQ(resize_and_crop(Image(20000, 1), 256, 224).width, 224);
  EXPECT_THAT(error_of([] { resize_and_crop(Image(10000000, 1), 256, 224); }), HasSubstr("too elongated"));
  EXPECT_THAT(error_of([] { resize_and_crop(Image(60000, 1), 256, 0); }), HasSubstr("too large"));
}

// A list gives what its transforms give one after the other, whatever is computed together.
TEST(EvaluationTransforms, PreparingDoesNotChangeTheResult) {
  Random random({0});
  for (auto [resize, crop] : {std::pair{32, 28}, {32, 40}, {40, 33}, {7, 100}})
    for (auto [width, height] : {std::pair{90, 61}, {61, 90}, {20, 20}}) {
      const Transforms transforms = evaluation_transforms(resize, crop);
      Example one_by_one{.image = test_image(width, height), .target = Mask(width, height)};
      for (std::size_t i = 0; i < 90; ++i) one_by_one.mask()->pixels[i] = static_cast<std::uint8_t>(i);
      Example prepared = transformed_pixels(one_by_one, transforms);
      for (std::size_t i = 0; i + 1 < transforms.size(); ++i) transforms[i].apply(one_by_one, random);
      EXPECT_EQ(prepared.image.pixels, one_by_one.image.pixels);
      EXPECT_EQ(prepared.mask()->pixels, one_by_one.mask()->pixels);
    }
}

TEST(EvaluationTransforms, OverridesTakeThePlaceOfTheFiles) {
  const Normalize half{.std = kImageNetColors.std};
  const Transforms file = {ResizeShort{100, Interpolation::kBicubic}, half};
  EXPECT_EQ(merge(file, {}), file);
  EXPECT_EQ(merge(file, {.crop_size = 90, .interpolation = Interpolation::kOpenCV}),
            (Transforms{ResizeShort{100, Interpolation::kOpenCV}, CenterCrop{90}, half}));
  EXPECT_EQ(merge(file, {.resize_size = 0, .mean = kImageNetColors.mean}), Transforms{kImageNetColors});
  EXPECT_EQ(merge({half}, {.resize_size = 8, .crop_size = 8}),
            (Transforms{ResizeShort{8}, CenterCrop{8}, half}));
  EXPECT_EQ(merge(evaluation_transforms(), {.crop_size = 0}), evaluation_transforms(256, 0));
}

TEST(EvaluationTransforms, RefusesNonsense) {
  const Transforms usual = evaluation_transforms();
  EXPECT_EQ(error_of([&] { merge(usual, {.resize_size = -1}); }),
            "the resize size is -1; it must be between 0 (don't) and 16384");
  EXPECT_THAT(error_of([&] { merge(usual, {.crop_size = 1 << 20}); }), HasSubstr("the crop size is 1048576"));
  EXPECT_EQ(error_of([&] {
              merge(usual, {.std = std::array{1.0f, 0.0f, 1.0f}});
            }),
            "a std is 0; it must be a positive number");
  EXPECT_THAT(error_of([&] {
                merge(usual, {.mean = std::array{std::numeric_limits<float>::quiet_NaN(), 0.0f, 0.0f}});
              }),
              HasSubstr("a mean is nan"));
  EXPECT_THAT(error_of([] { PreparedTransforms({CenterCrop{3}}); }), HasSubstr("has no Normalize"));
  EXPECT_THAT(error_of([] {
                PreparedTransforms({kImageNetColors, CenterCrop{3}});
              }),
              HasSubstr("CenterCrop can't be behind Normalize"));
}

TEST(EvaluationTransforms, ResizeIgnoresTheRatio) {
  const Image image = test_image(30, 20);
  const Image out = transformed_pixels({.image = image}, {Resize{8, 12}, kImageNetColors}).image;
  EXPECT_EQ(out.pixels, resize(image, 8, 12, Interpolation::kBilinear).pixels);
  EXPECT_EQ(out.width, 8);
}

TEST(EvaluationTransforms, LetterboxKeepsTheRatioAndFillsTheRest) {
  for (const auto& [width, height] : {std::pair(30, 20), std::pair(20, 30)}) {
    const Image image = test_image(width, height);
    const Image inner = resize(image, width / 2, height / 2, Interpolation::kBilinear);
    const Image out = transformed_pixels({.image = image},
                                         {Letterbox{.width = 15, .height = 15, .fill = 114}, kImageNetColors})
                          .image;
    ASSERT_EQ(out.width, 15);
    ASSERT_EQ(out.height, 15);
    const int left = (15 - width / 2) / 2, top = (15 - height / 2) / 2;
    for (int y = 0; y < 15; ++y)
      for (int x = 0; x < 15; ++x) {
        const bool is_inside = x >= left && x < left + width / 2 && y >= top && y < top + height / 2;
        EXPECT_EQ(out.row(y)[3 * x], is_inside ? inner.row(y - top)[3 * (x - left)] : 114) << x << " " << y;
      }
  }
  Mask mask(30, 20);
  std::ranges::fill(mask.pixels, std::uint8_t{7});
  Example example = transformed_pixels({.image = test_image(30, 20), .target = mask},
                                       {Letterbox{.width = 15, .height = 15}, kImageNetColors});
  EXPECT_EQ(example.mask()->row(0)[0], Mask::kIgnored);
  EXPECT_EQ(example.mask()->row(7)[0], 7);
  // A line stays a line.
  const Image thin =
      transformed_pixels({.image = test_image(1, 500)}, {Letterbox{.width = 9, .height = 9}, kImageNetColors})
          .image;
  EXPECT_EQ(thin.width, 9);
}

TEST(EvaluationTransforms, ChannelsCanBeTurnedRoundOrMadeOne) {
  Image image(1, 1);
  image.pixels = {10, 20, 200};
  const Normalize plain{{0, 0, 0}, {1, 1, 1}};
  const Tensor turned = transformed(image, {ToBGR{}, plain});
  EXPECT_EQ(turned.data<float>()[0], 200 / 255.0f);
  EXPECT_EQ(turned.data<float>()[2], 10 / 255.0f);
  const Tensor gray = transformed(image, {ToGray{}, plain});
  EXPECT_EQ(gray.shape(), (Shape{1, 1, 1, 1}));
  EXPECT_EQ(gray.data<float>()[0], 38 / 255.0f);  // Pillow's, of 37.53
}

}  // namespace
}  // namespace octet
