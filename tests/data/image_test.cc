#include "data/image.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "data/resample.h"
#include "octet/error.h"
#include "support/damage.h"
#include "support/pictures.h"
#include "support/temp_dir.h"

namespace octet {
namespace {

using testing::ElementsAre;
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

using Pixels = std::vector<std::uint8_t>;

TEST(Png, KeepsEveryPixel) {
  for (int width : {1, 5, 32}) {
    Image image = test_image(width, 7);
    Image decoded = decode(encode_png(image));
    EXPECT_EQ(decoded.width, width);
    EXPECT_EQ(decoded.height, 7);
    EXPECT_EQ(decoded.pixels, image.pixels);
  }
}

TEST(Png, InterlacedIsTheSame) {
  Image image = test_image(21, 13);
  EXPECT_EQ(decode(encode_png(21, 13, image.pixels, {.interlaced = true})).pixels, image.pixels);
}

TEST(Png, DropsAlpha) {
  EXPECT_EQ(decode(encode_png(2, 1, {1, 2, 3, 0, 4, 5, 6, 128}, {.color = PNG_COLOR_TYPE_RGB_ALPHA})).pixels,
            (Pixels{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(decode(encode_png(2, 1, {9, 0, 200, 128}, {.color = PNG_COLOR_TYPE_GRAY_ALPHA})).pixels,
            (Pixels{9, 9, 9, 200, 200, 200}));
}

TEST(Png, SpreadsFewBits) {
  EXPECT_EQ(decode(encode_png(2, 1, {0b01000000}, {.color = PNG_COLOR_TYPE_GRAY, .depth = 1})).pixels,
            (Pixels{0, 0, 0, 255, 255, 255}));
  EXPECT_EQ(decode(encode_png(4, 1, {0b00011011}, {.color = PNG_COLOR_TYPE_GRAY, .depth = 2})).pixels,
            (Pixels{0, 0, 0, 85, 85, 85, 170, 170, 170, 255, 255, 255}));
}

TEST(Png, SixteenBitsLoseTheLowByteButGrayIsClipped) {
  EXPECT_EQ(decode(encode_png(1, 1, {1, 255, 128, 0, 255, 7}, {.depth = 16})).pixels, (Pixels{1, 128, 255}));
  EXPECT_EQ(
      decode(encode_png(3, 1, {0, 7, 0, 255, 1, 0}, {.color = PNG_COLOR_TYPE_GRAY, .depth = 16})).pixels,
      (Pixels{7, 7, 7, 255, 255, 255, 255, 255, 255}));
}

TEST(Png, ColorsThatThePaletteLacksAreBlack) {
  PngKind kind{.color = PNG_COLOR_TYPE_PALETTE, .palette = {{10, 20, 30}, {40, 50, 60}}};
  std::string file = encode_png(3, 1, {1, 0, 1}, kind);
  EXPECT_EQ(decode(file).pixels, (Pixels{40, 50, 60, 10, 20, 30, 40, 50, 60}));
  kind.palette.resize(3);
  file = encode_png(3, 1, {1, 2, 0}, kind);
  // The palette's length shrunk by one color, the checksum with it.
  kind.palette.resize(2);
  std::string small = encode_png(3, 1, {1, 0, 1}, kind);
  const std::size_t image_data = file.find("IDAT") - 4, small_data = small.find("IDAT") - 4;
  EXPECT_EQ(decode(small.substr(0, small_data) + file.substr(image_data)).pixels,
            (Pixels{40, 50, 60, 0, 0, 0, 10, 20, 30}));
}

TEST(Png, RefusesAbsurdSizes) {
  EXPECT_THAT(error_of(encode_png(100000, 100000, {})),
              HasSubstr("picture: 100000x100000 pixels, more than the 178 million"));
  EXPECT_THAT(error_of(encode_png(2147483647, 2147483647, {})), HasSubstr("more than the 178 million"));
  EXPECT_THAT(error_of(encode_png(13000, 13000, {})), HasSubstr("are too few for 13000x13000 pixels"));
}

TEST(Png, SurvivesDamage) {
  expect_survives_damage(encode_png(test_image(40, 30)), decode, 64, 500);
  expect_survives_damage(encode_png(40, 30, test_image(40, 30).pixels, {.interlaced = true}), decode, 64,
                         500);
}

TEST(Jpeg, ComesCloseToWhatWasEncoded) {
  // Smooth, since JPEG keeps that nearly unchanged.
  Image image(33, 18);
  for (int y = 0; y < image.height; ++y)
    for (int x = 0; x < image.width; ++x) {
      std::uint8_t* pixel = image.row(y) + 3 * x;
      pixel[0] = static_cast<std::uint8_t>(7 * x);
      pixel[1] = static_cast<std::uint8_t>(14 * y);
      pixel[2] = static_cast<std::uint8_t>(3 * x + 7 * y);
    }
  for (bool progressive : {false, true}) {
    Image decoded = decode(progressive ? encode_jpeg(image, true) : encode_jpeg(image));
    ASSERT_EQ(decoded.width, image.width);
    ASSERT_EQ(decoded.height, image.height);
    ASSERT_EQ(decoded.pixels.size(), image.pixels.size());
    for (std::size_t i = 0; i < image.pixels.size(); ++i)
      ASSERT_NEAR(decoded.pixels[i], image.pixels[i], 24) << "at " << i << ", progressive: " << progressive;
  }
}

TEST(Jpeg, APictureThatIsTooLargeToWriteIsAnError) {
  Image image(70000, 1);
  EXPECT_THROW(encode_jpeg(image), Error);
}

TEST(Jpeg, GrayHasThreeEqualChannels) {
  Image decoded = decode(encode_jpeg(8, 8, 1, Pixels(64, 77)));
  EXPECT_EQ(decoded.pixels, Pixels(8 * 8 * 3, 77));
}

TEST(Jpeg, CmykIsAdobesInvertedKind) {
  // A stored 255 is no ink. A stored 200 of black leaves 200/255 of the light, a cyan of 55/255 takes away
  // that part.
  Pixels inks;
  for (int i = 0; i < 64; ++i) inks.insert(inks.end(), {200, 255, 0, 200});
  Image decoded = decode(encode_jpeg(8, 8, 4, inks, {.quality = 100}));
  EXPECT_THAT(Pixels(decoded.pixels.begin(), decoded.pixels.begin() + 3),
              ElementsAre(std::lround(200 * 200 / 255.0), 200, 0));
}

// The file with another height and width in its frame header.
std::string with_size(std::string file, int width, int height) {
  const std::size_t frame = std::min(file.find("\xff\xc0"), file.find("\xff\xc2"));
  for (int i = 0; i < 2; ++i) {
    file[frame + 5 + static_cast<std::size_t>(i)] = static_cast<char>(height >> (8 - 8 * i));
    file[frame + 7 + static_cast<std::size_t>(i)] = static_cast<char>(width >> (8 - 8 * i));
  }
  return file;
}

TEST(Jpeg, RefusesAbsurdSizes) {
  const std::string file = encode_jpeg(test_image(16, 16), true);
  EXPECT_THAT(error_of(with_size(file, 65000, 65000)),
              HasSubstr("picture: 65000x65000 pixels, more than the 178 million"));
  EXPECT_THAT(error_of(with_size(file, 13000, 13000)), HasSubstr("bytes are too few for 13000x13000 pixels"));
}

TEST(Jpeg, RefusesEndlessScans) {
  const std::string file = encode_jpeg(test_image(16, 16), true);
  const std::size_t last_scan = file.rfind("\xff\xda"), end = file.size() - 2;
  std::string bomb = file.substr(0, end);
  for (int i = 0; i < 100; ++i) bomb += file.substr(last_scan, end - last_scan);
  EXPECT_EQ(error_of(bomb + "\xff\xd9"), "picture: broken JPEG picture: too many scans");
}

TEST(Jpeg, RefusesMoreMemoryThanItsFileMayAskFor) {
  // Large enough for so many pixels, but the coefficients of all of them would be kept.
  const std::string file =
      with_size(encode_jpeg(test_image(16, 16), true), 12000, 12000) + std::string(300000, ' ');
  EXPECT_THAT(error_of(file),
              HasSubstr("picture: a progressive JPEG picture of 12000x12000 pixels takes 411 MB to "
                        "decode, too much for a file of 30"));
}

TEST(Jpeg, SurvivesDamage) {
  expect_survives_damage(encode_jpeg(test_image(40, 30)), decode, 64, 500);
  expect_survives_damage(encode_jpeg(test_image(40, 30), true), decode, 64, 500);
  expect_survives_damage(encode_jpeg(16, 16, 4, Pixels(16 * 16 * 4, 50)), decode, 64, 200);
}

TEST(Jpeg, TruncationIsNamed) {
  const std::string file = encode_jpeg(test_image(40, 30));
  EXPECT_EQ(error_of(file.substr(0, file.size() / 2)),
            "picture: broken JPEG picture: the data ends early, the file is truncated");
  EXPECT_THAT(error_of(file.substr(0, file.size() - 2)),
              HasSubstr("truncated"));  // only the end marker is missing
}

TEST(Jpeg, APartHasThePixelsOfTheWhole) {
  const int width = 203, height = 170;
  const Image image = test_image(width, height);
  const Box parts[] = {{0, 0, 100, 90},  {103, 80, 100, 90}, {1, 1, 66, 65},     {50, 33, 97, 101},
                       {64, 48, 64, 64}, {65, 47, 128, 66},  {130, 100, 73, 70}, {0, 0, width, height},
                       {15, 0, 65, 170}, {0, 31, 203, 64},   {7, 9, 3, 4},       {202, 169, 1, 1}};
  for (const auto& [across, down] : {std::pair{1, 1}, {2, 1}, {1, 2}, {2, 2}, {4, 1}})
    for (unsigned restart : {0u, 5u})
      for (bool progressive : {false, true}) {
        const JpegKind kind = {
            .progressive = progressive, .across = across, .down = down, .restart = restart};
        const std::string file = encode_jpeg(width, height, 3, image.pixels, kind);
        const Image whole = decode(file);
        for (const Box& part : parts) {
          const auto needed = [&](int w, int h) {
            EXPECT_EQ(w, width);
            EXPECT_EQ(h, height);
            return part;
          };
          const Image found = decode_image(as_bytes(file), "picture", needed);
          ASSERT_EQ(found.pixels.size(), whole.pixels.size());
          EXPECT_EQ(crop(found, part).pixels, crop(whole, part).pixels)
              << across << "x" << down << ", restart " << restart << ", part " << part.left << " " << part.top
              << " " << part.width << " " << part.height;
        }
      }
  const std::string gray =
      encode_jpeg(width, height, 1, Pixels(image.pixels.begin(), image.pixels.begin() + width * height));
  const Image found = decode_image(as_bytes(gray), "picture", [&](int, int) { return parts[3]; });
  EXPECT_EQ(crop(found, parts[3]).pixels, crop(decode(gray), parts[3]).pixels);
}

// A picture that is cut off is refused, even if all that is needed of it is there.
TEST(Jpeg, APartOfABrokenPictureIsRefusedAsTheWholeIs) {
  const std::string file = encode_jpeg(test_image(150, 150));
  for (std::size_t size : {file.size() - 2, file.size() * 9 / 10, file.size() / 2, file.size() / 4}) {
    const std::string broken = file.substr(0, size);
    try {
      decode_image(as_bytes(broken), "picture", [](int, int) { return Box{10, 10, 70, 70}; });
      ADD_FAILURE() << "cut off at " << size;
    } catch (const Error& error) {
      EXPECT_EQ(error.what(), error_of(broken));
    }
  }
  const auto decode_part = [](const std::string& damaged) {
    return decode_image(as_bytes(damaged), "picture", [](int width, int height) {
      return Box{width / 8, height / 8, width - width / 4, height - height / 4};
    });
  };
  expect_survives_damage(file, decode_part, 64, 500);
}

TEST(DecodeImage, NamesWhatIsNoPicture) {
  EXPECT_EQ(error_of(""), "picture: not a JPEG, PNG, WebP or BMP picture (the file is empty)");
  EXPECT_EQ(error_of("GIF89a..."), "picture: not a JPEG, PNG, WebP or BMP picture (starts with 'GIF89a..')");
  EXPECT_EQ(error_of("\n\x01"), "picture: not a JPEG, PNG, WebP or BMP picture (starts with '\\x0a\\x01')");
}

TEST(LoadImage, NamesTheFile) {
  TempDir dir;
  write_file(dir / "a.jpg", encode_jpeg(test_image(8, 8)));
  EXPECT_EQ(load_image(dir / "a.jpg").width, 8);
  try {
    load_image(dir / "b.jpg");
    FAIL() << "there is no b.jpg";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("b.jpg: cannot open"));
  }
}

TEST(ListImages, SortsTheFolder) {
  TempDir dir;
  for (const char* name : {"b.PNG", "a.jpeg", "c.jpg", "e.webp", "f.Bmp", "notes.txt", "jpg"})
    write_file(dir / name, "x");
  for (const char* folder : {"folder.jpg", "deep", ".hidden"})
    std::filesystem::create_directory(dir / folder);
  write_file(dir / "deep/d.jpg", "x");
  write_file(dir / ".hidden/e.jpg", "x");
  EXPECT_THAT(list_images(dir.path()), ElementsAre(dir / "a.jpeg", dir / "b.PNG", dir / "c.jpg",
                                                   dir / "deep/d.jpg", dir / "e.webp", dir / "f.Bmp"));
  EXPECT_THAT(list_images(dir / "notes.txt"), ElementsAre(dir / "notes.txt"));
}

TEST(ListImages, SaysWhatIsMissing) {
  TempDir dir;
  const auto error = [](const std::filesystem::path& path) -> std::string {
    try {
      list_images(path);
    } catch (const Error& problem) {
      return problem.what();
    }
    return "no error";
  };
  EXPECT_EQ(error(dir / "nothing"), (dir / "nothing").string() + ": no such file or folder");
  EXPECT_EQ(
      error(dir.path()),
      dir.path().string() + ": no pictures (*.jpg, *.jpeg, *.png, *.webp, *.bmp) in this folder or below");
}

}  // namespace
}  // namespace octet
