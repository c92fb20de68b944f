#include <png.h>

#include <algorithm>
#include <array>
#include <csetjmp>
#include <cstdio>
#include <cstring>

#include "base/error.h"
#include "data/image.h"
#include "data/mask.h"

namespace octet {

namespace {

// libpng reports errors by longjmp. Everything that a jump can skip is in the functions below that call
// setjmp, and those own nothing.
struct Reader {
  png_structp png = nullptr;
  png_infop info = nullptr;
  const std::byte* next = nullptr;
  std::size_t left = 0;
  char message[200] = "out of memory";
};

// What deflate can grow data by at most (https://zlib.net/zlib_tech.html).
constexpr std::int64_t kMaxInflation = 1032;

void on_error(png_structp png, png_const_charp message) {
  auto* reader = static_cast<Reader*>(png_get_error_ptr(png));
  std::snprintf(reader->message, sizeof reader->message, "%s", message);
  png_longjmp(png, 1);
}

void on_warning(png_structp, png_const_charp) {}

void read_bytes(png_structp png, png_bytep to, std::size_t count) {
  auto* reader = static_cast<Reader*>(png_get_io_ptr(png));
  if (count > reader->left) png_error(png, "the data ends early, the file is truncated");
  std::memcpy(to, reader->next, count);
  reader->next += count;
  reader->left -= count;
}

bool read_header(Reader* reader) {
  if (setjmp(png_jmpbuf(reader->png))) return false;
  png_set_read_fn(reader->png, reader, read_bytes);
  png_set_user_limits(reader->png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);  // decode_png limits the product
  // Only what makes the pixels: text, color profiles and so on are skipped unread.
  png_set_keep_unknown_chunks(reader->png, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);
  png_read_info(reader->png, reader->info);
  return true;
}

// Reads the samples into the rows of `image`, at most three bytes a pixel: one of gray or palette index, two
// of 16-bit gray, or RGB. `bytes_per_pixel` tells which.
bool read_samples(Reader* reader, Image* image, int* bytes_per_pixel) {
  if (setjmp(png_jmpbuf(reader->png))) return false;
  png_structp png = reader->png;
  const int color = png_get_color_type(png, reader->info);
  if (color == PNG_COLOR_TYPE_PALETTE) png_set_packing(png);
  if (color == PNG_COLOR_TYPE_GRAY) png_set_expand_gray_1_2_4_to_8(png);
  if (color != PNG_COLOR_TYPE_GRAY) png_set_strip_16(png);
  png_set_strip_alpha(png);
  const int passes = png_set_interlace_handling(png);
  png_read_update_info(png, reader->info);
  *bytes_per_pixel = png_get_channels(png, reader->info) * png_get_bit_depth(png, reader->info) / 8;
  for (int pass = 0; pass < passes; ++pass) {
    for (int y = 0; y < image->height; ++y) {
      if (pass == 0) image->pixels.resize(image->stride() * (static_cast<std::size_t>(y) + 1));
      png_read_row(png, image->row(y), nullptr);
    }
  }
  png_read_end(png, nullptr);
  return true;
}

// From the last pixel to the first, since a pixel only ever moves to a higher address.
template <class Expand>
void expand_row(std::uint8_t* row, int width, int bytes_per_pixel, Expand expand) {
  for (std::ptrdiff_t x = width - 1; x >= 0; --x) {
    const std::array<std::uint8_t, 3> rgb = expand(row + x * bytes_per_pixel);
    std::copy(rgb.begin(), rgb.end(), row + x * Image::kChannels);
  }
}

using Color = std::array<std::uint8_t, 3>;

// All 256 colors; those that the file does not have are black, as in Pillow.
std::array<Color, 256> read_palette(const Reader& reader) {
  std::array<Color, 256> palette{};
  png_colorp colors = nullptr;
  int count = 0;
  if (png_get_PLTE(reader.png, reader.info, &colors, &count) != 0)
    for (int i = 0; i < std::min(count, 256); ++i)
      palette[static_cast<std::size_t>(i)] = {colors[i].red, colors[i].green, colors[i].blue};
  return palette;
}

void expand_to_rgb(const Reader& reader, Image& image, int bytes_per_pixel) {
  if (bytes_per_pixel == Image::kChannels) return;
  const bool indexed = png_get_color_type(reader.png, reader.info) == PNG_COLOR_TYPE_PALETTE;
  const std::array<Color, 256> palette = read_palette(reader);
  for (int y = 0; y < image.height; ++y) {
    std::uint8_t* row = image.row(y);
    if (indexed)
      expand_row(row, image.width, 1, [&](const std::uint8_t* in) { return palette[*in]; });
    else if (bytes_per_pixel == 1)
      expand_row(row, image.width, 1, [](const std::uint8_t* in) { return Color{*in, *in, *in}; });
    else
      expand_row(row, image.width, 2, [](const std::uint8_t* in) {
        const std::uint8_t value = in[0] > 0 ? 255 : in[1];
        return Color{value, value, value};
      });
  }
}

// A PNG file whose header is read and found to be reasonable.
struct Opened {
  Reader reader;
  int width = 0, height = 0;

  Opened(Bytes bytes, const std::string& name) {
    reader.next = bytes.data();
    reader.left = bytes.size();
    reader.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &reader, on_error, on_warning);
    reader.info = reader.png ? png_create_info_struct(reader.png) : nullptr;
    try {
      if (!reader.info || !read_header(&reader)) fail("{}: broken PNG picture: {}", name, reader.message);
      check_size(bytes.size(), name);
    } catch (...) {
      destroy();
      throw;
    }
  }
  ~Opened() { destroy(); }
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;

 private:
  void destroy() { png_destroy_read_struct(&reader.png, &reader.info, nullptr); }

  void check_size(std::size_t bytes, const std::string& name) {
    const png_uint_32 w = png_get_image_width(reader.png, reader.info);
    const png_uint_32 h = png_get_image_height(reader.png, reader.info);
    check_pixel_count(w, h, name);
    const auto raw_bytes = static_cast<std::int64_t>(png_get_rowbytes(reader.png, reader.info)) * h;
    if (raw_bytes / kMaxInflation > static_cast<std::int64_t>(bytes))
      fail("{}: broken PNG picture: {} bytes are too few for {}x{} pixels", name, bytes, w, h);
    width = static_cast<int>(w);
    height = static_cast<int>(h);
  }
};

// The grey values or palette indices, a byte each.
bool read_classes(Reader* reader, Mask* mask) {
  if (setjmp(png_jmpbuf(reader->png))) return false;
  png_set_packing(reader->png);
  const int passes = png_set_interlace_handling(reader->png);
  png_read_update_info(reader->png, reader->info);
  for (int pass = 0; pass < passes; ++pass) {
    for (int y = 0; y < mask->height; ++y) {
      if (pass == 0) mask->pixels.resize(mask->stride() * (static_cast<std::size_t>(y) + 1));
      png_read_row(reader->png, mask->row(y), nullptr);
    }
  }
  png_read_end(reader->png, nullptr);
  return true;
}

}  // namespace

Image decode_png(Bytes bytes, const std::string& name) {
  Opened file(bytes, name);
  Image image;
  image.width = file.width;
  image.height = file.height;
  // Reserved, not filled: memory is taken row by row as far as the data goes.
  image.pixels.reserve(image.stride() * static_cast<std::size_t>(image.height));
  int bytes_per_pixel = 0;
  if (!read_samples(&file.reader, &image, &bytes_per_pixel))
    fail("{}: broken PNG picture: {}", name, file.reader.message);
  expand_to_rgb(file.reader, image, bytes_per_pixel);
  return image;
}

Mask decode_mask(Bytes bytes, const std::string& name) {
  if (!as_text(bytes.first(std::min<std::size_t>(bytes.size(), 8))).starts_with("\x89PNG"))
    fail("{}: a mask must be a PNG file of grey values or palette indices", name);
  Opened file(bytes, name);
  const int color = png_get_color_type(file.reader.png, file.reader.info);
  const int bits = png_get_bit_depth(file.reader.png, file.reader.info);
  const bool is_palette = color == PNG_COLOR_TYPE_PALETTE;
  if (!is_palette && (color != PNG_COLOR_TYPE_GRAY || (bits != 8 && bits != 1)))
    fail(
        "{}: a mask of {} with {} bits; it must have 8-bit grey values or palette indices, the class of each "
        "pixel",
        name,
        color == PNG_COLOR_TYPE_GRAY         ? "grey values"
        : color == PNG_COLOR_TYPE_GRAY_ALPHA ? "grey values and transparency"
                                             : "colours",
        bits);
  Mask mask;
  mask.width = file.width;
  mask.height = file.height;
  mask.pixels.reserve(mask.stride() * static_cast<std::size_t>(mask.height));
  if (!read_classes(&file.reader, &mask)) fail("{}: broken PNG picture: {}", name, file.reader.message);
  return mask;
}

}  // namespace octet
