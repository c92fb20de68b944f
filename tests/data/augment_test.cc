#include "data/augment.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <set>

#include "octet/error.h"
#include "support/pictures.h"

namespace octet {
namespace {

using testing::HasSubstr;

Image augmented(const Image& image, const TrainTransform& transform, std::uint64_t seed) {
  Random random({seed});
  return augment_pixels(image, transform, random);
}

std::vector<float> planes_of(const Image& image, const TrainTransform& transform, std::uint64_t seed) {
  Random random({seed});
  std::vector<float> planes(static_cast<std::size_t>(3 * transform.size * transform.size));
  augment(image, transform, random, planes);
  return planes;
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

TEST(Augment, TakesPartsOfRandomAreaAndShape) {
  const Image image = map_of(200, 150);
  const TrainTransform transform{.size = 40, .interpolation = Interpolation::kNearest, .flip = false};
  double smallest = 1, largest = 0, flattest = 10, tallest = 0;
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    const Image out = augmented(image, transform, seed);
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

TEST(Augment, ElongatedPicturesGiveTheirCentre) {
  const TrainTransform transform{
      .size = 30, .scale = {0.9, 1}, .interpolation = Interpolation::kNearest, .flip = false};
  const Image out = augmented(map_of(240, 30), transform, 1);
  EXPECT_EQ(out.row(0)[0], 100);  // 40 columns of 240
  EXPECT_NEAR(out.row(0)[3 * 29], 139, 1);
  const Image tall = augmented(map_of(30, 240), transform, 1);
  EXPECT_EQ(tall.row(0)[1], 100);
}

TEST(Augment, SmallPicturesArePaddedAndCropped) {
  const TrainTransform transform{.size = 28, .random_resized_crop = false, .pad = 4, .flip = false};
  std::set<std::pair<int, int>> seen;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    const Image out = augmented(map_of(28, 28), transform, seed);
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

TEST(Augment, WithoutRandomPartsTheShortSideFits) {
  const TrainTransform transform{.size = 20, .random_resized_crop = false, .flip = false};
  std::set<int> lefts;
  for (std::uint64_t seed = 0; seed < 200; ++seed)
    lefts.insert(augmented(map_of(30, 20), transform, seed).row(0)[0]);
  EXPECT_EQ(lefts.size(), 11u);
  EXPECT_EQ(*lefts.begin(), 0);
  EXPECT_EQ(*lefts.rbegin(), 10);
}

TEST(Augment, FlipsEveryOtherTime) {
  const TrainTransform transform{.size = 16, .random_resized_crop = false};
  int flipped = 0;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    const Image out = augmented(map_of(16, 16), transform, seed);
    flipped += out.row(3)[0] == 15;
    ASSERT_EQ(out.row(3)[1], 3);
    ASSERT_EQ(out.row(3)[0] + out.row(3)[3 * 15], 15);
  }
  EXPECT_NEAR(flipped, 500, 60);
}

TEST(Augment, NormalisesLikeEvaluation) {
  const TrainTransform transform{.size = 9, .random_resized_crop = false, .flip = false};
  const Image image = test_image(9, 9);
  const Tensor expected = preprocess_images({image}, evaluation_of(transform));
  EXPECT_TRUE(std::ranges::equal(planes_of(image, transform, 1), expected.data<float>()));
  EXPECT_EQ(evaluation_of({}), Preprocess());
}

TEST(Augment, ErasesARectangle) {
  Image white(32, 32);
  std::ranges::fill(white.pixels, std::uint8_t{255});
  TrainTransform transform{.size = 32, .random_resized_crop = false, .random_erase = 0.25};
  int erased = 0;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    const std::vector<float> planes = planes_of(white, transform, seed);
    const auto zeros = std::ranges::count(planes, 0.0f);
    if (zeros == 0) continue;
    ++erased;
    ASSERT_EQ(zeros % 3, 0);
    ASSERT_TRUE(zeros / 3 >= 1024 * 0.015 && zeros / 3 <= 1024 * 0.36) << zeros / 3;
    for (std::size_t i = 0; i < 1024; ++i) ASSERT_EQ(planes[i] == 0.0f, planes[i + 2048] == 0.0f);
  }
  EXPECT_NEAR(erased, 250, 60);
}

TEST(Augment, ColoursVary) {
  const Image image = test_image(24, 24);
  const auto versions = [&](const TrainTransform& transform) {
    std::set<std::string> seen;
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
      const Image out = augmented(image, transform, seed);
      seen.insert(std::string(out.pixels.begin(), out.pixels.end()));
    }
    return seen.size();
  };
  const TrainTransform plain{.size = 24, .random_resized_crop = false, .flip = false};
  EXPECT_EQ(versions(plain), 1u);
  TrainTransform policy = plain;
  policy.auto_augment = true;
  EXPECT_GT(versions(policy), 25u);
  TrainTransform jitter = plain;
  jitter.jitter = {.brightness = 0.4, .contrast = 0.4, .saturation = 0.4, .hue = 0.1};
  EXPECT_GT(versions(jitter), 190u);
}

TEST(Augment, RefusesNonsense) {
  const auto error_of = [](const TrainTransform& transform) -> std::string {
    try {
      validate(transform);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_EQ(error_of({}), "no error");
  EXPECT_THAT(error_of({.size = 0}), HasSubstr("size of training pictures is 0"));
  EXPECT_THAT(error_of({.scale = {0.5, 0.2}}), HasSubstr("scale is 0.5 to 0.2"));
  EXPECT_THAT(error_of({.ratio = {0, 1}}), HasSubstr("ratio is 0 to 1"));
  EXPECT_THAT(error_of({.pad = -1}), HasSubstr("padding is -1"));
  EXPECT_THAT(error_of({.jitter = {.brightness = -1}}), HasSubstr("colour jitter is -1"));
  EXPECT_THAT(error_of({.jitter = {.hue = 0.6}}), HasSubstr("hue's jitter is 0.6"));
  EXPECT_THAT(error_of({.random_erase = 2}), HasSubstr("random erasing is 2"));
  EXPECT_THAT(error_of({.std = {0, 1, 1}}), HasSubstr("a std is 0"));
}

}  // namespace
}  // namespace octet
