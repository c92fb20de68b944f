#include "data/resample.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/resample_pillow.h"
#include "octet/error.h"
#include "support/pictures.h"

namespace octet {
namespace {

constexpr Interpolation kAll[] = {Interpolation::kNearest, Interpolation::kBilinear, Interpolation::kBicubic,
                                  Interpolation::kOpenCV};

std::uint32_t fnv1a(const std::vector<std::uint8_t>& bytes) {
  std::uint32_t hash = 2166136261u;
  for (std::uint8_t byte : bytes) hash = (hash ^ byte) * 16777619u;
  return hash;
}

// Black and white in a pattern without a period, so that filters overshoot.
Image extreme_image(int width, int height) {
  Image image(width, height);
  std::uint32_t state = 1;
  for (std::uint8_t& value : image.pixels) {
    state = state * 1664525u + 1013904223u;
    value = state >> 31 ? 255 : 0;
  }
  return image;
}

// What Pillow 11.3 and OpenCV 4.11 make of test_image(): tests/data/pillow_test.py compares many more
// pictures with the installed ones; these are here so that a build without Python notices a change as well.
TEST(Resize, GivesTheSamePixelsAsPillowAndOpenCV) {
  struct Row {
    int width, height, to_width, to_height;
    std::uint32_t hashes[4];  // in the order of kAll
  };
  const Row rows[] = {
      {7, 5, 4, 3, {0x7af60ead, 0x1a97f43e, 0x272c87eb, 0x3e846627}},
      {7, 5, 19, 12, {0xd05017e1, 0x8210a4a8, 0x6a336848, 0x053cf319}},
      {64, 48, 32, 24, {0xe242f8c5, 0xc3b8aed8, 0x0ed8745a, 0x5386a905}},
      {50, 40, 13, 55, {0x788eeffb, 0x57d82a15, 0x6d8b8174, 0x689caf6c}},
      {31, 77, 90, 6, {0x1e65c865, 0x15edb1ad, 0xae603bc4, 0x268dcb47}},
      {1, 1, 3, 2, {0x81ac497f, 0x81ac497f, 0x81ac497f, 0x81ac497f}},
      {200, 3, 2, 5, {0x08371435, 0x62a0c21d, 0xa2c57d38, 0xf9addd7f}},
  };
  for (const Row& row : rows) {
    const Image image = test_image(row.width, row.height);
    for (std::size_t i = 0; i < 4; ++i) {
      const Image resized = resize(image, row.to_width, row.to_height, kAll[i]);
      EXPECT_EQ(resized.width, row.to_width);
      EXPECT_EQ(resized.height, row.to_height);
      EXPECT_EQ(fnv1a(resized.pixels), row.hashes[i])
          << row.width << "x" << row.height << " to " << row.to_width << "x" << row.to_height << ", "
          << name_of(kAll[i]);
    }
  }
}

TEST(Resize, APartIsThatPartOfTheWhole) {
  const Image image = test_image(60, 44);
  for (Interpolation interpolation : kAll)
    for (auto [width, height] : {std::pair{60, 44}, {30, 22}, {17, 90}, {131, 13}}) {
      const Image whole = resize(image, width, height, interpolation);
      for (const Box& box : {Box{0, 0, width, height}, Box{3, 5, 7, 6}, Box{width - 1, height - 1, 1, 1}}) {
        const Image part = resize(image, width, height, interpolation, box);
        ASSERT_EQ(part.width, box.width);
        ASSERT_EQ(part.height, box.height);
        for (int y = 0; y < box.height; ++y)
          ASSERT_TRUE(
              std::equal(part.row(y), part.row(y) + part.stride(), whole.row(box.top + y) + 3 * box.left))
              << name_of(interpolation) << " " << width << "x" << height << ", row " << y << " of the part";
      }
    }
}

TEST(Resize, ReadsNothingElse) {
  const int sizes[][4] = {
      {60, 44, 60, 44}, {60, 44, 30, 22}, {61, 83, 17, 90}, {90, 40, 131, 13}, {300, 9, 7, 40}};
  for (const auto& [from_width, from_height, width, height] : sizes) {
    const Image image = test_image(from_width, from_height);
    for (const Box& box : {Box{0, 0, width, height}, Box{3, 5, 2, 4}, Box{width - 1, height - 1, 1, 1}}) {
      const Box part = read_by_resize(from_width, from_height, width, height, box);
      Image black(from_width, from_height);
      for (int y = part.top; y < part.top + part.height; ++y)
        std::copy_n(image.row(y) + 3 * part.left, 3 * part.width, black.row(y) + 3 * part.left);
      for (Interpolation interpolation : kAll)
        EXPECT_EQ(resize(black, width, height, interpolation, box).pixels,
                  resize(image, width, height, interpolation, box).pixels)
            << name_of(interpolation) << " " << from_width << "x" << from_height << " to " << width << "x"
            << height;
    }
  }
}

TEST(Resize, OneColorStays) {
  Image image(9, 14);
  std::fill(image.pixels.begin(), image.pixels.end(), 255);
  for (Interpolation interpolation : kAll)
    for (auto [width, height] : {std::pair{1, 1}, {4, 7}, {18, 28}, {100, 3}})
      EXPECT_EQ(resize(image, width, height, interpolation).pixels,
                std::vector<std::uint8_t>(static_cast<std::size_t>(width * height * 3), 255))
          << name_of(interpolation) << " " << width << "x" << height;
}

TEST(Resize, SameSizeIsACopy) {
  const Image image = test_image(13, 8);
  for (Interpolation interpolation : kAll)
    EXPECT_EQ(resize(image, 13, 8, interpolation).pixels, image.pixels);
}

TEST(Resize, RefusesWhatIsTooLarge) {
  const Image image = test_image(2, 2);
  for (Interpolation interpolation : kAll) {
    EXPECT_THROW(resize(image, 1 << 25, 1, interpolation), Error);
    EXPECT_THROW(resize(image, 1 << 20, 1 << 20, interpolation), Error);
  }
}

TEST(Interpolation, HasNames) {
  for (Interpolation interpolation : kAll)
    EXPECT_EQ(parse_interpolation(name_of(interpolation)), interpolation);
  try {
    parse_interpolation("cubic");
    FAIL() << "there is no cubic";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "interpolation 'cubic' is not known; there are nearest, bilinear, bicubic and opencv");
  }
}

TEST(Resize, AllLoopsGiveTheSamePixels) {
  const std::span<const ResampleLoops*const> all = resample_loops(), portable = all.last(1);
  // Narrow pictures, at whose end there is little to read beyond, and ratios of few and of many weights.
  const int sizes[][4] = {{1, 1, 5, 4},     {1, 40, 1, 7},    {3, 2, 2, 9},     {61, 43, 20, 31},
                          {640, 3, 17, 2},  {33, 50, 33, 90}, {97, 83, 70, 61}, {90, 71, 50, 33},
                          {256, 64, 37, 9}, {64, 300, 64, 7}, {5, 5, 131, 67}};
  for (const auto& [width, height, to_width, to_height] : sizes)
    for (const Image& image : {test_image(width, height), extreme_image(width, height)})
      for (const PillowFilter& filter : {kPillowBilinear, kPillowBicubic})
        for (const Box& box : {Box{0, 0, to_width, to_height}, Box{to_width / 2, to_height / 3, 1, 1}})
          for (std::size_t i = 0; i < all.size(); ++i)
            EXPECT_EQ(resize_pillow(image, to_width, to_height, filter, box, all.subspan(i, 1)).pixels,
                      resize_pillow(image, to_width, to_height, filter, box, portable).pixels)
                << width << "x" << height << " to " << to_width << "x" << to_height << ", loops " << i;
}

}  // namespace
}  // namespace octet
