#include "data/batch.h"

#include <gmock/gmock.h>

#include "data/classification.h"
#include "support/pictures.h"
#include "support/transformed.h"

namespace octet {
namespace {

TEST(Batch, PicturesAndMasksGoToTheirPlaces) {
  const Transforms transforms = evaluation_transforms(0, 0);
  Batch batch;
  for (std::size_t place : {1u, 0u}) {
    Example example{.image = test_image(3, 2), .target = Mask(3, 2)};
    example.image.pixels[0] = static_cast<std::uint8_t>(place);
    example.mask()->pixels = {1, 2, 3, 4, 5, static_cast<std::uint8_t>(10 + place)};
    if (batch.pixels.empty()) allocate(batch, example, {}, 2);
    const Tensor expected = transformed(example.image, transforms);
    Random random({0});
    put(batch, place, example, {}, random, PreparedTransforms(transforms));
    EXPECT_TRUE(
        std::ranges::equal(batch.pixels.data<float>().subspan(18 * place, 18), expected.data<float>()));
  }
  EXPECT_EQ(batch.pixels.shape(), (Shape{2, 3, 2, 3}));
  EXPECT_EQ(batch.masks.shape(), (Shape{2, 2, 3}));
  EXPECT_THAT(batch.masks.data<std::uint8_t>(), testing::ElementsAre(1, 2, 3, 4, 5, 10, 1, 2, 3, 4, 5, 11));
}

TEST(Batch, PixelsBecomeIntegers) {
  const Transforms transforms = evaluation_transforms(0, 0);
  PixelIntegers integers{.table = PixelTable<std::int8_t>(3)};
  for (std::size_t c = 0; c < 3; ++c)
    for (std::size_t i = 0; i < 256; ++i)
      integers.table[c][i] = static_cast<std::int8_t>(i * (2 * c + 1) + c);
  for (bool to_planes : {false, true}) {
    integers.to_planes = to_planes;
    Batch batch;
    Example example{.image = test_image(5, 2)};
    allocate(batch, example, {}, 2, 3, &integers);
    ASSERT_EQ(batch.pixels.dtype(), DType::kInt8);
    EXPECT_EQ(batch.pixels.shape(), (Shape{2, 3, 2, 5}));
    Random random({0});
    put(batch, 1, example, {}, random, PreparedTransforms(transforms), &integers);
    const std::span<const std::int8_t> found = batch.pixels.data<std::int8_t>().subspan(30);
    for (std::size_t i = 0; i < 30; ++i)
      EXPECT_EQ(found[to_planes ? i % 3 * 10 + i / 3 : i], integers.table[i % 3][example.image.pixels[i]]);
  }
}

// Arrays and pictures that are floats already are normalised as ever.
TEST(Batch, WhatIsNoPixelsStaysFloat) {
  const PixelIntegers integers{.table = PixelTable<std::int8_t>(3)};
  Batch batch;
  allocate(batch, {.image = {}, .floats = FloatImage(3, 2)}, {}, 1, 3, &integers);
  EXPECT_EQ(batch.pixels.dtype(), DType::kFloat32);
  allocate(batch, {.image = {}}, Tensor(DType::kFloat32, {3, 2, 2}), 1, 3, &integers);
  EXPECT_EQ(batch.pixels.dtype(), DType::kFloat32);
}

TEST(Batch, WithoutMasksThereAreNone) {
  Batch batch;
  allocate(batch, {.image = test_image(3, 2), .target = std::int64_t{1}}, {}, 4);
  EXPECT_TRUE(batch.masks.empty());
  EXPECT_EQ(batch.pixels.shape(), (Shape{4, 3, 2, 3}));
}

}  // namespace
}  // namespace octet
