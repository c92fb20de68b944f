#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/file.h"

namespace octet {

// A picture: 8-bit RGB, interleaved, rows from the top without padding.
struct Image {
  static constexpr int kChannels = 3;

  Image() = default;
  Image(int w, int h)  // black
      : width(w), height(h), pixels(static_cast<std::size_t>(w) * static_cast<std::size_t>(h) * kChannels) {}

  const std::uint8_t* row(int y) const { return pixels.data() + stride() * static_cast<std::size_t>(y); }
  std::uint8_t* row(int y) { return pixels.data() + stride() * static_cast<std::size_t>(y); }
  std::size_t stride() const { return static_cast<std::size_t>(width) * kChannels; }  // bytes a row

  int width = 0;
  int height = 0;
  std::vector<std::uint8_t> pixels;
};

// Pictures of more pixels are refused, as Pillow does (twice its MAX_IMAGE_PIXELS).
constexpr std::int64_t kMaxImagePixels = 2 * std::int64_t{1024 * 1024 * 1024 / 4 / 3};

// Decodes a JPEG or PNG picture to the pixels that Pillow's Image.open(file).convert("RGB") gives:
// - a JPEG's EXIF orientation is not applied; CMYK is taken for Adobe's inverted kind;
// - of a PNG, alpha and transparency are dropped, gamma is not applied, 16-bit samples lose their low byte,
//   except that 16-bit gray is clipped to 255.
// A truncated or broken picture is an Error that starts with `name`.
Image decode_image(Bytes bytes, const std::string& name);
Image load_image(const std::filesystem::path& path);

// The picture as a PNG file of 8-bit RGB; in png_encode.cc.
std::string encode_png(const Image& image);

// *.jpg, *.jpeg, *.png in any case.
bool is_picture_name(const std::filesystem::path& path);

// The picture `path` itself, or the pictures in the folder `path` and below, sorted by name; an Error when
// there is none. Links to folders are not followed, and what is hidden is left out.
std::vector<std::filesystem::path> list_images(const std::filesystem::path& path);

// A JPEG file, with color at half the resolution; quality is libjpeg's, 1 to 100.
std::string encode_jpeg(const Image& image, int quality = 90);

// The decoders behind decode_image, in jpeg.cc and png.cc.
Image decode_jpeg(Bytes bytes, const std::string& name);
Image decode_png(Bytes bytes, const std::string& name);

}  // namespace octet
