#include <png.h>

#include <algorithm>
#include <array>
#include <csetjmp>
#include <cstdio>
#include <cstring>

#include "base/error.h"
#include "data/image.h"

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

}  // namespace

Image decode_png(Bytes bytes, const std::string& name) {
  struct Owner {
    Reader reader;
    ~Owner() { png_destroy_read_struct(&reader.png, &reader.info, nullptr); }
  } owner;
  Reader& reader = owner.reader;
  reader.next = bytes.data();
  reader.left = bytes.size();
  reader.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &reader, on_error, on_warning);
  reader.info = reader.png ? png_create_info_struct(reader.png) : nullptr;
  if (!reader.info || !read_header(&reader)) fail("{}: broken PNG picture: {}", name, reader.message);

  const png_uint_32 width = png_get_image_width(reader.png, reader.info);
  const png_uint_32 height = png_get_image_height(reader.png, reader.info);
  const std::int64_t pixels = std::int64_t{width} * height;
  check_pixel_count(width, height, name);
  const auto raw_bytes = static_cast<std::int64_t>(png_get_rowbytes(reader.png, reader.info)) * height;
  if (raw_bytes / kMaxInflation > static_cast<std::int64_t>(bytes.size()))
    fail("{}: broken PNG picture: {} bytes are too few for {}x{} pixels", name, bytes.size(), width, height);

  Image image;
  image.width = static_cast<int>(width);
  image.height = static_cast<int>(height);
  // Reserved, not filled: memory is taken row by row as far as the data goes.
  image.pixels.reserve(static_cast<std::size_t>(pixels) * Image::kChannels);
  int bytes_per_pixel = 0;
  if (!read_samples(&reader, &image, &bytes_per_pixel))
    fail("{}: broken PNG picture: {}", name, reader.message);
  expand_to_rgb(reader, image, bytes_per_pixel);
  return image;
}

}  // namespace octet
