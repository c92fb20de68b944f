#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/image.h"
#include "support/damage.h"
#include "support/pictures.h"

namespace octet {
namespace {

using testing::HasSubstr;

Image decode(const std::string& file) {
  return decode_image(as_bytes(file), "picture");
}

std::string error_of(const std::string& file) {
  try {
    decode(file);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(WebP, LosslessKeepsEveryPixel) {
  for (int width : {1, 5, 32}) {
    const Image image = test_image(width, 7), decoded = decode(encode_webp(image, true));
    EXPECT_EQ(decoded.width, width);
    EXPECT_EQ(decoded.height, 7);
    EXPECT_EQ(decoded.pixels, image.pixels);
  }
}

TEST(WebP, LossyComesClose) {
  Image image(40, 30);
  std::fill(image.pixels.begin(), image.pixels.end(), std::uint8_t{90});
  const Image decoded = decode(encode_webp(image, false));
  ASSERT_EQ(decoded.pixels.size(), image.pixels.size());
  for (std::uint8_t value : decoded.pixels) ASSERT_NEAR(value, 90, 4);
}

// Even where all pixels are the same, a lossy file grows with them: what the reader's bound stands on.
TEST(WebP, AFlatPictureFitsTheBound) {
  Image image(4000, 3000);
  EXPECT_EQ(decode(encode_webp(image, false, 0)).pixels, image.pixels);
}

// The file with another size in the header of its pixels.
std::string with_size(std::string file, bool lossless, int width, int height) {
  if (lossless)  // 14 bits of each, less one, behind the signature
    file.replace(21, 4, little_endian((width - 1) | std::int64_t{height - 1} << 14, 4));
  else
    file.replace(26, 4, little_endian(width, 2) + little_endian(height, 2));
  return file;
}

TEST(WebP, RefusesAbsurdSizes) {
  const std::string lossy = encode_webp(test_image(16, 16), false),
                    lossless = encode_webp(test_image(16, 16), true);
  EXPECT_THAT(error_of(with_size(lossy, false, 16383, 16383)),
              HasSubstr("picture: 16383x16383 pixels, more than the 178 million"));
  EXPECT_THAT(error_of(with_size(lossy, false, 13000, 13000)),
              HasSubstr("are too few for 13000x13000 pixels"));
  EXPECT_THAT(
      error_of(with_size(lossless, true, 13000, 13000)),
      HasSubstr("picture: a lossless WebP picture of 13000x13000 pixels takes 644 MB to decode, too much"));
}

TEST(WebP, SurvivesDamage) {
  expect_survives_damage(encode_webp(test_image(40, 30), false), decode, 64, 500);
  expect_survives_damage(encode_webp(test_image(40, 30), true), decode, 64, 500);
}

TEST(WebP, TruncationIsNamed) {
  const std::string file = encode_webp(test_image(40, 30), false);
  EXPECT_EQ(error_of(file.substr(0, file.size() / 2)),
            "picture: broken WebP picture: the data ends early, the file is truncated");
}

}  // namespace
}  // namespace octet
