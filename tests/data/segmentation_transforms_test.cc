// The transforms of PaddleSeg; tests/data/paddleseg_test.py compares their pixels with OpenCV's and Pillow's.
#include <gmock/gmock.h>

#include <algorithm>
#include <set>

#include "data/example_ops.h"
#include "data/loader.h"
#include "data/mask.h"
#include "data/mask_dataset.h"
#include "data/transforms/fit.h"
#include "data/transforms/flip.h"
#include "data/transforms/normalize.h"
#include "data/transforms/padding.h"
#include "data/transforms/random_blur.h"
#include "data/transforms/random_distort.h"
#include "data/transforms/random_rotation.h"
#include "data/transforms/scaling.h"
#include "support/graph_runner.h"
#include "support/pictures.h"
#include "support/temp_dir.h"
#include "support/transformed.h"

namespace octet {
namespace {

using octet::testing::error_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A picture whose mask has a class for each of its columns and rows.
Example example_of(int width, int height) {
  Example example{.image = test_image(width, height), .target = Mask(width, height)};
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x)
      example.mask()->row(y)[x] = static_cast<std::uint8_t>((x * 7 + y * 3) % 251);
  return example;
}

Example apply_all(const Transforms& transforms, Example example, std::uint64_t seed) {
  Random random({seed});
  for (const Transform& transform : transforms) {
    if (transform.row().input == TransformRow::Input::kPixels) make_bytes(example);
    transform.apply(example, random);
  }
  return example;
}

// What is computed of a part alone is what computing all and cutting would give.
TEST(SegmentationTransforms, ScalingAndCroppingTogetherIsTheSame) {
  for (const Transform& scaling :
       {Transform(ResizeStepScaling{0.5, 2, 0.25}), Transform(ResizeStepScaling{0.5, 2, 0}),
        Transform(ResizeRangeScaling{20, 90})}) {
    for (const RandomPaddingCrop& crop :
         {RandomPaddingCrop{.crop_size = {40, 30}},
          RandomPaddingCrop{
              .crop_size = {24, 50}, .border = {{1, 2.5f, 3}, 9}, .category_max_ratio = 0.004}}) {
      for (std::uint64_t seed = 0; seed < 25; ++seed) {
        const Example expected = apply_all({scaling, crop}, example_of(50, 37), seed);
        const Example actual = transformed_pixels(example_of(50, 37), {scaling, crop, Normalize{}}, seed);
        ASSERT_EQ(expected.floats.pixels, actual.floats.pixels) << seed;
        ASSERT_EQ(expected.image.pixels, actual.image.pixels) << seed;
        ASSERT_EQ(expected.mask()->pixels, actual.mask()->pixels) << seed;
      }
    }
  }
}

TEST(SegmentationTransforms, MasksGoWithTheirPictures) {
  const Transforms all = {ResizeStepScaling{0.5, 2, 0},
                          RandomRotation{.max_rotation = 30},
                          RandomScaleAspect{},
                          RandomPaddingCrop{.crop_size = {48, 40}},
                          RandomHorizontalFlip{},
                          RandomVerticalFlip{0.5},
                          RandomDistort{},
                          RandomBlur{0.5, "random"},
                          Normalize{}};
  std::set<std::vector<std::uint8_t>> seen;
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    const Example example = transformed_pixels(example_of(60, 45), all, seed);
    EXPECT_EQ(example.width(), 48);
    EXPECT_EQ(example.height(), 40);
    EXPECT_EQ(example.mask()->width, 48);
    EXPECT_EQ(example.mask()->height, 40);
    seen.insert(example.mask()->pixels);
  }
  EXPECT_GT(seen.size(), 25u);
}

// The factors of ResizeStepScaling are those of np.linspace.
TEST(SegmentationTransforms, ScalesByStepsOrAnything) {
  std::set<int> widths;
  for (std::uint64_t seed = 0; seed < 200; ++seed)
    widths.insert(apply_all({ResizeStepScaling{0.5, 2, 0.25}}, example_of(100, 80), seed).width());
  EXPECT_THAT(widths, ElementsAre(50, 75, 100, 125, 150, 175, 200));
  widths.clear();
  for (std::uint64_t seed = 0; seed < 200; ++seed)
    widths.insert(apply_all({ResizeStepScaling{0.5, 2, 0}}, example_of(100, 80), seed).width());
  EXPECT_GT(widths.size(), 60u);
}

TEST(SegmentationTransforms, TellHowToGetBack) {
  using enum SizeChange::Kind;
  const Example example =
      apply_all({Resize{40, 20, Interpolation::kCvLinear}, Padding{{64, 32}}, Padding{{64, 32}}},
                example_of(50, 37), 0);
  EXPECT_THAT(example.changes, ElementsAre(SizeChange{kResized, 50, 37}, SizeChange{kPadded, 40, 20}));
  EXPECT_THAT(apply_all({LimitLong{.max_long = 50}}, example_of(50, 37), 0).changes, IsEmpty());
  EXPECT_THAT(apply_all({LimitLong{.max_long = 25}}, example_of(50, 37), 0).changes,
              ElementsAre(SizeChange{kResized, 50, 37}));
}

TEST(SegmentationTransforms, SaySettingsThatMakeNoSense) {
  const auto error = [](const Transform& transform) { return error_of([&] { transform.check(); }); };
  EXPECT_THAT(error(ResizeStepScaling{2, 0.5, 0.25}), HasSubstr("the smaller one first"));
  EXPECT_THAT(error(RandomPaddingCrop{.crop_size = {0, 5}}), HasSubstr("crop_size"));
  EXPECT_THAT(error(RandomDistort{.hue_range = -1}), HasSubstr("hue_range"));
  EXPECT_THAT(error(RandomBlur{0.1, "wide"}), HasSubstr("gaussian, median, blur and random"));
  EXPECT_THAT(error(RandomRotation{.max_rotation = 200}), HasSubstr("max_rotation"));
  EXPECT_THAT(error(Padding{{5, 5}, {{300, 0, 0}, 255}}), HasSubstr("im_padding_value"));
  EXPECT_THAT(error_of([] {
                apply_all({Padding{{5, 5}}}, example_of(6, 4), 0);
              }),
              HasSubstr("6x4 is larger"));
}

// In evaluation masks keep the size of their files, and batches say how pictures came to theirs.
TEST(SegmentationTransforms, LoaderKeepsMasksForEvaluation) {
  TempDir dir;
  for (int i = 0; i < 3; ++i) {
    const Example example = example_of(20 + 4 * (i / 2), 10);
    write_file(dir / (std::to_string(i) + ".png"), encode_png(example.image));
    Mask mask = *example.mask();
    std::ranges::fill(mask.pixels, static_cast<std::uint8_t>(i % 2));
    write_file(dir / (std::to_string(i) + "m.png"), encode_mask(mask));
  }
  write_file(dir / "val_list.txt", "0.png 0m.png\n1.png 1m.png\n2.png 2m.png\n");
  const MaskData data{.type = "OpticDiscSeg", .root = dir.path().string(), .mode = "val"};
  const Transforms transforms = {Resize{8, 6, Interpolation::kCvLinear}, Normalize{}};
  Loader loader(open_masks(data), transforms, {.batch_size = 4, .workers = 1, .keep_masks = true});
  const std::optional<Batch> first = loader.next(), second = loader.next();
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->pixels.shape(), (Shape{2, 3, 6, 8}));
  EXPECT_EQ(first->masks.shape(), (Shape{2, 10, 20}));
  EXPECT_THAT(first->changes, ElementsAre(SizeChange{SizeChange::Kind::kResized, 20, 10}));
  EXPECT_EQ(second->masks.shape(),
            (Shape{1, 10, 24}));  // its picture has the same size, but came from another
  EXPECT_FALSE(loader.next());
}

}  // namespace
}  // namespace octet
