#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
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

// A rectangle of pixels.
struct Box {
  int left = 0;
  int top = 0;
  int width = 0;
  int height = 0;
};

// Asked about a picture of this size: which of its pixels are needed. Decoders may leave the others black.
// Null: all of them.
using NeededPart = std::function<Box(int width, int height)>;

// Pictures of more pixels are refused, as Pillow does (twice its MAX_IMAGE_PIXELS).
constexpr std::int64_t kMaxImagePixels = 2 * std::int64_t{1024 * 1024 * 1024 / 4 / 3};

// Decodes a JPEG, PNG, WebP or BMP picture, which is recognised by its first bytes, to the pixels that
// Pillow's Image.open(file).convert("RGB") gives:
// - a JPEG's EXIF orientation is not applied; CMYK is taken for Adobe's inverted kind;
// - of a PNG, alpha and transparency are dropped, gamma is not applied, 16-bit samples lose their low byte,
//   except that 16-bit gray is clipped to 255;
// - of a WebP, alpha is dropped, and of an animation this is the first frame;
// - of a BMP, alpha is dropped; one with run-length encoding is an Error.
// A truncated or broken picture is an Error that starts with `name`.
Image decode_image(Bytes bytes, const std::string& name, const NeededPart& needed = {});
Image load_image(const std::filesystem::path& path, const NeededPart& needed = {});

// The picture as a PNG file of 8-bit RGB; in png_encode.cc.
std::string encode_png(const Image& image);

// For messages: the names that is_picture_name knows, in any case.
constexpr const char* kPictureNames = "*.jpg, *.jpeg, *.png, *.webp, *.bmp";
bool is_picture_name(const std::filesystem::path& path);

// The picture `path` itself, or the pictures in the folder `path` and below, sorted by name; an Error when
// there is none. Links to folders are not followed, and what is hidden is left out.
std::vector<std::filesystem::path> list_images(const std::filesystem::path& path);

// A JPEG file, with color at half the resolution; quality is libjpeg's, 1 to 100.
std::string encode_jpeg(const Image& image, int quality = 90);

// The decoders behind decode_image, each in a file of its own.
Image decode_jpeg(Bytes bytes, const std::string& name, const NeededPart& needed = {});
Image decode_png(Bytes bytes, const std::string& name);
Image decode_webp(Bytes bytes, const std::string& name);
Image decode_bmp(Bytes bytes, const std::string& name);

// What decoders ask before they take memory. An Error when a picture has more than kMaxImagePixels.
void check_pixel_count(std::int64_t width, std::int64_t height, const std::string& name);
// An Error when a decoder would take more memory beside the pixels than a file of `file_size` bytes may ask
// for: 128 MB, and 64 bytes for each of its own. `kind` says what takes so much ("a progressive JPEG").
void check_decoder_memory(std::int64_t memory, const char* kind, std::int64_t width, std::int64_t height,
                          std::int64_t file_size, const std::string& name);

}  // namespace octet
