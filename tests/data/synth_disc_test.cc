#include "data/synth_disc.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "data/mask_dataset.h"
#include "support/temp_dir.h"

namespace octet {
namespace {

// Of a threshold on the brightness of pixels, the best that there is for these pictures: the IoU of the disc.
double iou_of_best_threshold(int pictures) {
  double best = 0;
  std::vector<Example> examples;
  for (int i = 0; i < pictures; ++i)
    examples.push_back(make_disc_picture(1, static_cast<std::uint64_t>(i), 96, 96));
  for (int threshold = 100; threshold < 700; threshold += 20) {
    std::int64_t both = 0, either = 0;
    for (const Example& example : examples)
      for (std::size_t i = 0; i < example.mask()->pixels.size(); ++i) {
        const std::uint8_t* rgb = example.image.pixels.data() + 3 * i;
        const bool bright = rgb[0] + rgb[1] + rgb[2] > threshold, is_disc = example.mask()->pixels[i] == 1;
        both += bright && is_disc;
        either += bright || is_disc;
      }
    best = std::max(best, static_cast<double>(both) / static_cast<double>(either));
  }
  return best;
}

TEST(SynthDisc, APictureIsAlwaysTheSame) {
  const Example a = make_disc_picture(3, 5, 64, 48), b = make_disc_picture(3, 5, 64, 48);
  EXPECT_EQ(a.image.pixels, b.image.pixels);
  EXPECT_EQ(a.mask()->pixels, b.mask()->pixels);
  EXPECT_NE(a.image.pixels, make_disc_picture(3, 6, 64, 48).image.pixels);
  EXPECT_NE(a.image.pixels, make_disc_picture(4, 5, 64, 48).image.pixels);
}

TEST(SynthDisc, DiscsHaveManyPlacesAndSizes) {
  std::vector<std::int64_t> sizes, columns;
  for (std::uint64_t i = 0; i < 20; ++i) {
    const Example example = make_disc_picture(0, i, 128, 128);
    std::int64_t size = 0, sum = 0;
    for (int y = 0; y < 128; ++y)
      for (int x = 0; x < 128; ++x)
        if (example.mask()->row(y)[x] == 1) ++size, sum += x;
    ASSERT_GT(size, 60);
    sizes.push_back(size);
    columns.push_back(sum / size);
  }
  const auto [least, most] = std::ranges::minmax(sizes);
  EXPECT_GT(most, least * 3 / 2);
  const auto [left, right] = std::ranges::minmax(columns);
  EXPECT_LT(left, 50);
  EXPECT_GT(right, 78);
}

TEST(SynthDisc, BrightnessAloneDoesNotFindThem) {
  EXPECT_LT(iou_of_best_threshold(30), 0.6);
}

TEST(SynthDisc, WritesOpticDiscSegsLayout) {
  TempDir dir;
  write_disc_pictures(dir.path(), {.count = 10, .seed = 2, .width = 40, .height = 32});
  for (const auto& [mode, count] : {std::pair{"train", 7u}, {"val", 2u}, {"test", 1u}}) {
    const Dataset dataset = open_masks({.type = "OpticDiscSeg", .root = dir.path().string(), .mode = mode});
    ASSERT_EQ(dataset.entries.size(), count) << mode;
    const Example example = dataset.load(dataset.entries[0]);
    EXPECT_EQ(example.image.width, 40);
    EXPECT_EQ(std::ranges::count(example.mask()->pixels, 1) > 0, true);
  }
}

}  // namespace
}  // namespace octet
