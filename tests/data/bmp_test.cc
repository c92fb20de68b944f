#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/image.h"
#include "support/damage.h"
#include "support/pictures.h"

namespace octet {
namespace {

using testing::HasSubstr;
using namespace std::string_literals;

using Pixels = std::vector<std::uint8_t>;

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

TEST(Bmp, RowsGoUpOrDownAndColorsAreBlueFirst) {
  // Two rows of one pixel, each padded to four bytes.
  const std::string rows = "\x01\x02\x03\x00\x04\x05\x06\x00"s;
  EXPECT_EQ(decode(encode_bmp(1, 2, rows)).pixels, (Pixels{6, 5, 4, 3, 2, 1}));
  EXPECT_EQ(decode(encode_bmp(1, -2, rows)).pixels, (Pixels{3, 2, 1, 6, 5, 4}));
}

TEST(Bmp, PalettesOfEverySize) {
  const std::vector<std::array<std::uint8_t, 3>> colors = {{10, 20, 30}, {40, 50, 60}};
  const Pixels expected = {40, 50, 60, 10, 20, 30, 40, 50, 60};
  EXPECT_EQ(decode(encode_bmp(3, 1, "\x01\x00\x01\x00"s, {.bits = 8, .palette = colors})).pixels, expected);
  EXPECT_EQ(decode(encode_bmp(3, 1, "\x10\x10\x00\x00"s, {.bits = 4, .palette = colors})).pixels, expected);
  EXPECT_EQ(decode(encode_bmp(3, 1, "\xa0\x00\x00\x00"s, {.bits = 1, .palette = colors})).pixels, expected);
  // A color that the palette lacks is black.
  EXPECT_EQ(decode(encode_bmp(1, 1, "\x09\x00\x00\x00"s, {.bits = 8, .palette = colors})).pixels,
            (Pixels{0, 0, 0}));
}

TEST(Bmp, MasksSayWhereColorsAre) {
  EXPECT_EQ(decode(encode_bmp(1, 1, "\x01\x02\x03\x04", {.bits = 32})).pixels, (Pixels{3, 2, 1}));
  EXPECT_EQ(decode(encode_bmp(1, 1, "\x01\x02\x03\x04",
                              {.bits = 32, .compression = 3, .masks = {0xff, 0xff00, 0xff000000}}))
                .pixels,
            (Pixels{1, 2, 4}));
  // 5, 6 and 5 bits: 31 of 31, 32 of 63, 1 of 31.
  const std::string pixel = little_endian(31 << 11 | 32 << 5 | 1, 4);
  EXPECT_EQ(
      decode(encode_bmp(1, 1, pixel, {.bits = 16, .compression = 3, .masks = {0xf800, 0x7e0, 0x1f}})).pixels,
      (Pixels{255, 129, 8}));
  EXPECT_THAT(
      error_of(encode_bmp(1, 1, pixel, {.bits = 16, .compression = 3, .masks = {0xf00, 0xf0, 0xf}})),
      HasSubstr(
          "picture: a BMP picture of 16 bits with the color masks f00, f0, f, which octet does not read"));
}

TEST(Bmp, RefusesCompressionByName) {
  EXPECT_EQ(error_of(encode_bmp(4, 4, "\0\0\0\x01"s, {.bits = 8, .compression = 1})),
            "picture: a BMP picture with compression (RLE8), which octet does not read; save it as PNG");
  EXPECT_THAT(error_of(encode_bmp(4, 4, "\0\0\0\x01"s, {.bits = 4, .compression = 2})), HasSubstr("(RLE4)"));
  EXPECT_THAT(error_of(encode_bmp(4, 4, "", {.compression = 77})), HasSubstr("there is no compression 77"));
}

TEST(Bmp, RefusesAbsurdSizes) {
  EXPECT_THAT(error_of(encode_bmp(100000, 100000, "")),
              HasSubstr("picture: 100000x100000 pixels, more than the 178 million"));
  EXPECT_THAT(error_of(encode_bmp(2147483647, -2147483647 - 1, "")), HasSubstr("more than the 178 million"));
  EXPECT_THAT(error_of(encode_bmp(10000, 10000, "")), HasSubstr("the file is truncated"));
  EXPECT_THAT(error_of(encode_bmp(0, 5, "")), HasSubstr("it has 0x5 pixels"));
  EXPECT_THAT(error_of(encode_bmp(-3, 5, "")), HasSubstr("it has -3x5 pixels"));
}

TEST(Bmp, SurvivesDamage) {
  expect_survives_damage(encode_bmp(5, 3, std::string(48, 'x')), decode, 7, 500);
  expect_survives_damage(encode_bmp(5, 3, std::string(24, '\0'), {.bits = 8, .palette = {{1, 2, 3}}}), decode,
                         7, 500);
}

}  // namespace
}  // namespace octet
