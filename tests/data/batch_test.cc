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

TEST(Batch, WithoutMasksThereAreNone) {
  Batch batch;
  allocate(batch, {.image = test_image(3, 2), .target = std::int64_t{1}}, {}, 4);
  EXPECT_TRUE(batch.masks.empty());
  EXPECT_EQ(batch.pixels.shape(), (Shape{4, 3, 2, 3}));
}

}  // namespace
}  // namespace octet
