#include "tasks/boundary.h"

#include <gtest/gtest.h>

#include <cmath>

namespace octet {
namespace {

Mask filled(int width, int height, std::uint8_t id) {
  Mask mask(width, height);
  std::ranges::fill(mask.pixels, id);
  return mask;
}

TEST(Boundary, IsNearWhereClassesMeet) {
  Mask mask = filled(9, 5, 0);
  for (int y = 0; y < 5; ++y)
    for (int x = 4; x < 9; ++x) mask.row(y)[x] = 1;
  for (int distance : {0, 1, 3}) {
    const std::vector<bool> near = near_boundary(mask, distance);
    for (int y = 0; y < 5; ++y)
      for (int x = 0; x < 9; ++x)
        EXPECT_EQ(near[static_cast<std::size_t>(9 * y + x)], x >= 3 - distance && x <= 4 + distance)
            << x << " " << distance;
  }
  // A single pixel: a square around it and its four neighbours.
  mask = filled(9, 9, 0);
  mask.row(4)[4] = 1;
  const std::vector<bool> near = near_boundary(mask, 1);
  EXPECT_TRUE(near[4 * 9 + 2]);
  EXPECT_TRUE(near[2 * 9 + 3]);
  EXPECT_FALSE(near[2 * 9 + 2]);
  for (const bool pixel : near_boundary(filled(4, 4, 2), 3)) EXPECT_FALSE(pixel);
}

TEST(Boundary, AgreementIsCounted) {
  Mask first = filled(20, 10, 0);
  for (int y = 0; y < 10; ++y)
    for (int x = 10; x < 20; ++x) first.row(y)[x] = 1;
  Mask second = first;
  second.row(0)[0] = 1;   // far from the boundary
  second.row(0)[12] = 0;  // and near it
  PixelAgreement agreement;
  agreement.add(first, second);
  EXPECT_DOUBLE_EQ(agreement.share(), 198.0 / 200);
  EXPECT_DOUBLE_EQ(agreement.share_near(), 79.0 / 80);  // eight columns
  EXPECT_TRUE(std::isnan(PixelAgreement().share()));
}

}  // namespace
}  // namespace octet
