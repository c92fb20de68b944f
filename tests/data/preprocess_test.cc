#include "data/preprocess.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "octet/error.h"
#include "support/pictures.h"

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

Preprocess only_crop(int size) {
  Preprocess preprocess;
  preprocess.resize_size = 0;
  preprocess.crop_size = size;
  return preprocess;
}

TEST(Preprocess, NormalizesIntoPlanes) {
  Image image(2, 1);
  image.pixels = {0, 51, 255, 255, 102, 0};
  Preprocess preprocess = only_crop(0);
  const Tensor tensor = preprocess_images({image}, preprocess);
  EXPECT_EQ(tensor.shape(), (Shape{1, 3, 1, 2}));
  const auto value = [&](float pixel, std::size_t channel) {
    return (pixel / 255.0f - preprocess.mean[channel]) / preprocess.std[channel];
  };
  EXPECT_THAT(tensor.data<float>(), testing::ElementsAre(value(0, 0), value(255, 0), value(51, 1),
                                                         value(102, 1), value(255, 2), value(0, 2)));
}

TEST(Preprocess, ShortSideIsExactAndLongSideRoundsDown) {
  Preprocess preprocess;
  preprocess.crop_size = 0;
  preprocess.resize_size = 8;
  const auto size = [&](int width, int height) {
    const Image image = resize_and_crop(Image(width, height), preprocess);
    return std::pair(image.width, image.height);
  };
  EXPECT_EQ(size(16, 31), std::pair(8, 15));  // 15.5
  EXPECT_EQ(size(31, 16), std::pair(15, 8));
  EXPECT_EQ(size(7, 7), std::pair(8, 8));
  EXPECT_EQ(size(1, 1000), std::pair(8, 8000));
  EXPECT_EQ(size(8, 11), std::pair(8, 11));
}

// Where the crop begins: round((size - crop) / 2) of Python, which takes the even neighbour of a half.
TEST(Preprocess, CropsTheCenter) {
  const Image image = test_image(20, 21);
  for (auto [crop, left, top] : {std::tuple{20, 0, 0}, {19, 0, 1}, {18, 1, 2}, {17, 2, 2}, {1, 10, 10}}) {
    const Image cropped = resize_and_crop(image, only_crop(crop));
    ASSERT_EQ(cropped.width, crop);
    ASSERT_EQ(cropped.height, crop);
    EXPECT_TRUE(std::equal(cropped.row(0), cropped.row(0) + 3, image.row(top) + 3 * left)) << "crop " << crop;
  }
}

TEST(Preprocess, ASmallPictureGetsABlackBorder) {
  Image image(2, 3);
  std::fill(image.pixels.begin(), image.pixels.end(), 9);
  const Image cropped = resize_and_crop(image, only_crop(5));
  // round(-1.5) = -2 columns and -1 row.
  for (int y = 0; y < 5; ++y)
    for (int x = 0; x < 5; ++x) {
      const bool inside = x >= 2 && x < 4 && y >= 1 && y < 4;
      EXPECT_EQ(cropped.row(y)[3 * x], inside ? 9 : 0) << x << ", " << y;
    }
}

TEST(Preprocess, CropOfResizedIsThatPartOfTheWhole) {
  const Image image = test_image(90, 61);
  for (auto interpolation : {Interpolation::kNearest, Interpolation::kBilinear, Interpolation::kOpenCV}) {
    Preprocess preprocess;
    preprocess.resize_size = 32;
    preprocess.crop_size = 28;
    preprocess.interpolation = interpolation;
    const Image whole = resize(image, 47, 32, interpolation);
    const Image cropped = resize_and_crop(image, preprocess);
    for (int y = 0; y < 28; ++y)
      EXPECT_TRUE(std::equal(cropped.row(y), cropped.row(y) + cropped.stride(), whole.row(y + 2) + 3 * 10));
  }
}

TEST(Preprocess, ElongatedPicturesAreCroppedOrRefused) {
  Preprocess preprocess;
  EXPECT_EQ(resize_and_crop(Image(20000, 1), preprocess).width, 224);
  EXPECT_THAT(error_of([&] { resize_and_crop(Image(10000000, 1), preprocess); }), HasSubstr("too elongated"));
  preprocess.crop_size = 0;
  EXPECT_THAT(error_of([&] { resize_and_crop(Image(60000, 1), preprocess); }), HasSubstr("too large"));
}

TEST(Preprocess, ABatchHasOneSize) {
  const Tensor batch = preprocess_images({test_image(30, 20), test_image(11, 40)}, Preprocess());
  EXPECT_EQ(batch.shape(), (Shape{2, 3, 224, 224}));
  const Tensor second = preprocess_images({test_image(11, 40)}, Preprocess());
  EXPECT_TRUE(std::equal(second.data<float>().begin(), second.data<float>().end(),
                         batch.data<float>().begin() + second.size()));
  EXPECT_EQ(error_of([] {
              preprocess_images({Image(3, 2), Image(2, 3)}, only_crop(0));
            }),
            "pictures of 3x2 and 2x3 do not fit in one batch; set a crop size, or use batches of 1");
}

TEST(Preprocess, OverridesTakeThePlaceOfTheFiles) {
  Preprocess file;
  file.resize_size = 100;
  file.mean = {0.5f, 0.5f, 0.5f};
  const Preprocess merged = merge(file, {.crop_size = 90, .interpolation = Interpolation::kOpenCV});
  EXPECT_EQ(merged.resize_size, 100);
  EXPECT_EQ(merged.crop_size, 90);
  EXPECT_EQ(merged.interpolation, Interpolation::kOpenCV);
  EXPECT_EQ(merged.mean, file.mean);
  EXPECT_EQ(merge(file, {}), file);
}

TEST(Preprocess, RefusesNonsense) {
  EXPECT_EQ(error_of([] { merge({}, {.resize_size = -1}); }),
            "the resize size is -1; it must be between 0 (don't) and 16384");
  EXPECT_THAT(error_of([] { merge({}, {.crop_size = 1 << 20}); }), HasSubstr("the crop size is 1048576"));
  EXPECT_EQ(error_of([] {
              merge({}, {.std = std::array{1.0f, 0.0f, 1.0f}});
            }),
            "a std is 0; it must be a positive number");
  EXPECT_THAT(error_of([] {
                merge({}, {.mean = std::array{std::numeric_limits<float>::quiet_NaN(), 0.0f, 0.0f}});
              }),
              HasSubstr("a mean is nan"));
}

}  // namespace
}  // namespace octet
