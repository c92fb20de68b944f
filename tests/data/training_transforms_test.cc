#include "data/classification.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <set>

#include "data/transforms/auto_augment.h"
#include "data/transforms/color_jitter.h"
#include "data/transforms/flip.h"
#include "data/transforms/random_crop.h"
#include "data/transforms/random_erasing.h"
#include "data/transforms/resize.h"
#include "octet/error.h"
#include "support/pictures.h"
#include "support/transformed.h"

namespace octet {
namespace {

using testing::HasSubstr;

// With the usual colours, which transforms need at the end.
Image augmented(const Image& image, Transforms transforms, std::uint64_t seed) {
  transforms.push_back(kImageNetColors);
  return transformed_pixels({.image = image}, transforms, seed).image;
}

Image pixels_of(const Image& image, const Transforms& transforms, std::uint64_t seed) {
  return transformed_pixels({.image = image}, transforms, seed).image;
}

// Every pixel tells where it is: its column in red, its row in green, and blue is never black.
Image map_of(int width, int height) {
  Image image(width, height);
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) {
      image.row(y)[3 * x] = static_cast<std::uint8_t>(x);
      image.row(y)[3 * x + 1] = static_cast<std::uint8_t>(y);
      image.row(y)[3 * x + 2] = 255;
    }
  return image;
}

TEST(Random, IsTheSameEverywhere) {
  Random random({1, 2, 3});
  EXPECT_EQ(random.next(), 0x214d4c07ecfeaac5u);
  EXPECT_EQ(random.next(), 0x6ff419cb83dfe1e6u);
  Random other({1, 3, 2});
  EXPECT_NE(Random({1, 2, 3}).next(), other.next());
}

TEST(Random, IsUniformAndNormal) {
  Random random({42});
  constexpr int kDraws = 100000;
  std::map<std::int64_t, int> counts;
  double sum = 0, squares = 0, mean = 0;
  for (int i = 0; i < kDraws; ++i) {
    ++counts[random.below(10)];
    const double uniform = random.uniform();
    ASSERT_TRUE(uniform >= 0 && uniform < 1);
    mean += uniform / kDraws;
    const double normal = random.normal();
    sum += normal / kDraws;
    squares += normal * normal / kDraws;
  }
  EXPECT_EQ(counts.size(), 10u);
  for (const auto& [value, count] : counts) EXPECT_NEAR(count, kDraws / 10, 400) << value;
  EXPECT_NEAR(mean, 0.5, 0.01);
  EXPECT_NEAR(sum, 0, 0.02);
  EXPECT_NEAR(squares, 1, 0.02);
}

TEST(TrainingTransforms, TakesPartsOfRandomAreaAndShape) {
  const Image image = map_of(200, 150);
  const RandomResizedCrop crop{.size = 40, .interpolation = Interpolation::kNearest};
  double smallest = 1, largest = 0, flattest = 10, tallest = 0;
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    const Image out = augmented(image, {crop}, seed);
    const std::uint8_t* first = out.row(0);
    const std::uint8_t* last = out.row(39) + 3 * 39;
    const double width = (last[0] - first[0]) / 39.0 * 40, height = (last[1] - first[1]) / 39.0 * 40;
    ASSERT_TRUE(width > 0 && height > 0);
    const double area = width * height / (200 * 150), ratio = width / height;
    smallest = std::min(smallest, area), largest = std::max(largest, area);
    flattest = std::min(flattest, ratio), tallest = std::max(tallest, ratio);
  }
  EXPECT_NEAR(smallest, 0.08, 0.03);
  EXPECT_GT(largest, 0.9);
  EXPECT_NEAR(flattest, 0.75, 0.08);
  EXPECT_NEAR(tallest, 1.33, 0.12);
}

TEST(TrainingTransforms, ElongatedPicturesGiveTheirCentre) {
  const RandomResizedCrop crop{.size = 30, .scale = {0.9, 1}, .interpolation = Interpolation::kNearest};
  const Image out = augmented(map_of(240, 30), {crop}, 1);
  EXPECT_EQ(out.row(0)[0], 100);  // 40 columns of 240
  EXPECT_NEAR(out.row(0)[3 * 29], 139, 1);
  const Image tall = augmented(map_of(30, 240), {crop}, 1);
  EXPECT_EQ(tall.row(0)[1], 100);
}

TEST(TrainingTransforms, SmallPicturesArePaddedAndCropped) {
  const Transforms transforms = training_transforms({.size = 28, .pad = 4, .flip = false});
  std::set<std::pair<int, int>> seen;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    const Image out = pixels_of(map_of(28, 28), transforms, seed);
    const std::uint8_t* centre = out.row(14) + 3 * 14;
    const int dx = centre[0] - 14, dy = centre[1] - 14;
    ASSERT_TRUE(std::abs(dx) <= 4 && std::abs(dy) <= 4);
    seen.insert({dx, dy});
    for (int y = 0; y < 28; ++y)
      for (int x = 0; x < 28; ++x) {
        const bool inside = x + dx >= 0 && x + dx < 28 && y + dy >= 0 && y + dy < 28;
        ASSERT_EQ(out.row(y)[3 * x + 2], inside ? 255 : 0);
      }
  }
  EXPECT_EQ(seen.size(), 81u);
}

TEST(TrainingTransforms, WithoutRandomPartsTheShortSideFits) {
  const Transforms transforms = training_transforms({.size = 20, .pad = 0, .flip = false});
  std::set<int> lefts;
  for (std::uint64_t seed = 0; seed < 200; ++seed)
    lefts.insert(pixels_of(map_of(30, 20), transforms, seed).row(0)[0]);
  EXPECT_EQ(lefts.size(), 11u);
  EXPECT_EQ(*lefts.begin(), 0);
  EXPECT_EQ(*lefts.rbegin(), 10);
}

TEST(TrainingTransforms, FlipsEveryOtherTime) {
  const Transforms transforms = training_transforms({.size = 16, .pad = 0});
  int flipped = 0;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    const Image out = pixels_of(map_of(16, 16), transforms, seed);
    flipped += out.row(3)[0] == 15;
    ASSERT_EQ(out.row(3)[1], 3);
    ASSERT_EQ(out.row(3)[0] + out.row(3)[3 * 15], 15);
  }
  EXPECT_NEAR(flipped, 500, 60);
}

TEST(TrainingTransforms, NormalisesLikeEvaluation) {
  const TrainingPictures pictures{.size = 9, .pad = 0, .flip = false};
  const Image image = test_image(9, 9);
  const Tensor expected = transformed(image, evaluation_transforms(pictures));
  EXPECT_TRUE(std::ranges::equal(transformed(image, training_transforms(pictures), 1).data<float>(),
                                 expected.data<float>()));
  EXPECT_EQ(evaluation_transforms(TrainingPictures()), evaluation_transforms());
}

TEST(TrainingTransforms, ErasesARectangle) {
  Image white(32, 32);
  std::ranges::fill(white.pixels, std::uint8_t{255});
  const Transforms transforms = training_transforms({.size = 32, .pad = 0, .random_erase = 0.25});
  int erased = 0;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    const Tensor out = transformed(white, transforms, seed);
    const std::span<const float> planes = out.data<float>();
    const auto zeros = std::ranges::count(planes, 0.0f);
    if (zeros == 0) continue;
    ++erased;
    ASSERT_EQ(zeros % 3, 0);
    ASSERT_TRUE(zeros / 3 >= 1024 * 0.015 && zeros / 3 <= 1024 * 0.36) << zeros / 3;
    for (std::size_t i = 0; i < 1024; ++i) ASSERT_EQ(planes[i] == 0.0f, planes[i + 2048] == 0.0f);
  }
  EXPECT_NEAR(erased, 250, 60);
}

TEST(TrainingTransforms, ColoursVary) {
  const Image image = test_image(24, 24);
  const auto versions = [&](const Transforms& transforms) {
    std::set<std::string> seen;
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
      const Image out = augmented(image, transforms, seed);
      seen.insert(std::string(out.pixels.begin(), out.pixels.end()));
    }
    return seen.size();
  };
  EXPECT_EQ(versions({}), 1u);
  EXPECT_EQ(versions({ColorJitter{}}), 1u);
  EXPECT_GT(versions({AutoAugment{}}), 25u);
  EXPECT_GT(versions({ColorJitter{.brightness = 0.4, .contrast = 0.4, .saturation = 0.4, .hue = 0.1}}), 190u);
}

// The mask of a picture in which red tells the column and green the row: what the pixel at the same place
// was.
Mask mask_of(const Image& map) {
  Mask mask(map.width, map.height);
  for (int y = 0; y < map.height; ++y)
    for (int x = 0; x < map.width; ++x) mask.row(y)[x] = static_cast<std::uint8_t>((x * 7 + y * 13) % 200);
  return mask;
}

// Where the picture is scaled to the nearest pixel, its mask must have moved with it; black is beyond the
// edge.
TEST(TrainingTransforms, MasksFollowTheGeometry) {
  const Image map = map_of(60, 45);
  const Interpolation nearest = Interpolation::kNearest;
  const Transforms lists[] = {
      {RandomResizedCrop{.size = 20, .interpolation = nearest}, RandomHorizontalFlip{}},
      {ResizeShort{32, nearest}, RandomCrop{32, 8}, RandomHorizontalFlip{}},
      {ResizeShort{50, nearest}, CenterCrop{70}, RandomHorizontalFlip{1}},
  };
  for (Transforms transforms : lists) {
    transforms.push_back(kImageNetColors);
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
      Example out = transformed_pixels({.image = map, .target = mask_of(map)}, transforms, seed);
      ASSERT_NE(out.mask(), nullptr);
      ASSERT_EQ(out.mask()->pixels.size() * 3, out.image.pixels.size());
      for (std::size_t i = 0; i < out.mask()->pixels.size(); ++i) {
        const std::uint8_t* rgb = &out.image.pixels[3 * i];
        const int expected = rgb[2] == 0 ? Mask::kIgnored : (rgb[0] * 7 + rgb[1] * 13) % 200;
        ASSERT_EQ(out.mask()->pixels[i], expected) << seed << " at " << i;
      }
    }
  }
}

TEST(TrainingTransforms, ColoursLeaveMasksAlone) {
  const Image map = map_of(24, 24);
  Example out = transformed_pixels({.image = map, .target = mask_of(map)},
                                   {ColorJitter{0.5, 0.5, 0.5, 0.2}, kImageNetColors, RandomErasing{1}}, 3);
  EXPECT_NE(out.image.pixels, map.pixels);
  EXPECT_EQ(out.mask()->pixels, mask_of(map).pixels);
}

// AutoAugment moves both or none.
TEST(TrainingTransforms, AutoAugmentMovesMasks) {
  Image image(40, 40);
  std::ranges::fill(image.pixels, std::uint8_t{200});
  int moved = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Mask mask(40, 40);
    std::ranges::fill(mask.pixels, std::uint8_t{1});
    Example out =
        transformed_pixels({.image = image, .target = mask}, {AutoAugment{}, kImageNetColors}, seed);
    moved += std::ranges::count(out.mask()->pixels, Mask::kIgnored) > 0;
    ASSERT_TRUE(std::ranges::all_of(out.mask()->pixels, [](int c) { return c == 1 || c == Mask::kIgnored; }));
  }
  EXPECT_GT(moved, 20);
  EXPECT_LT(moved, 180);
}

TEST(TrainingTransforms, RefusesNonsense) {
  const auto error_of = [](const Transform& transform) -> std::string {
    try {
      transform.check();
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  for (const Transform& transform : training_transforms({.auto_augment = true, .random_erase = 0.5}))
    EXPECT_EQ(error_of(transform), "no error");
  EXPECT_THAT(error_of(RandomResizedCrop{.size = 0}), HasSubstr("size of training pictures is 0"));
  EXPECT_THAT(error_of(RandomResizedCrop{.scale = {0.5, 0.2}}), HasSubstr("scale is 0.5 to 0.2"));
  EXPECT_THAT(error_of(RandomResizedCrop{.ratio = {0, 1}}), HasSubstr("ratio is 0 to 1"));
  EXPECT_THAT(error_of(RandomCrop{.padding = -1}), HasSubstr("padding is -1"));
  EXPECT_THAT(error_of(RandomHorizontalFlip{2}), HasSubstr("flipping is 2"));
  EXPECT_THAT(error_of(ColorJitter{.brightness = -1}), HasSubstr("colour jitter is -1"));
  EXPECT_THAT(error_of(ColorJitter{.hue = 0.6}), HasSubstr("hue's jitter is 0.6"));
  EXPECT_THAT(error_of(RandomErasing{2}), HasSubstr("random erasing is 2"));
  EXPECT_THAT(error_of(Normalize{.std = {0, 1, 1}}), HasSubstr("a std is 0"));
  EXPECT_THROW(augmented(test_image(9, 9), {RandomCrop{10}}, 0), Error);
}

}  // namespace
}  // namespace octet
