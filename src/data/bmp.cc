#include <algorithm>
#include <array>

#include "base/error.h"
#include "data/image.h"

namespace octet {

namespace {

constexpr std::size_t kFileHeader = 14;
// The header that follows it is known by its size: OS/2's first, Windows's (version 3, 3 with masks, 4, 5),
// OS/2's second.
constexpr std::uint32_t kCoreHeader = 12, kInfoHeader = 40;
constexpr std::array<std::uint32_t, 7> kHeaders = {kCoreHeader, kInfoHeader, 52, 56, 64, 108, 124};

enum Compression : std::uint32_t { kNone = 0, kRle8 = 1, kRle4 = 2, kBitFields = 3, kJpeg = 4, kPng = 5 };
constexpr std::array<const char*, 6> kCompressionNames = {"none",       "RLE8",          "RLE4",
                                                          "bit fields", "embedded JPEG", "embedded PNG"};

using Color = std::array<std::uint8_t, 3>;

// Where the three colors lie in a pixel of 16 or 32 bits: red, green, blue.
using Masks = std::array<std::uint32_t, 3>;
constexpr Masks kMasks555 = {0x7c00, 0x3e0, 0x1f}, kMasks565 = {0xf800, 0x7e0, 0x1f};
constexpr Masks kMasks888 = {0xff0000, 0xff00, 0xff};

struct Header {
  std::int64_t width = 0;
  std::int64_t height = 0;
  bool is_top_down = false;
  int bits = 0;  // per pixel
  Masks masks = {};
  std::vector<Color> palette = {};
  std::size_t pixels_at = 0;

  std::size_t stride() const {  // rows are padded to four bytes
    return (static_cast<std::size_t>(width) * static_cast<std::size_t>(bits) + 31) / 32 * 4;
  }
};

// Little-endian numbers of a file whose end is minded.
class Reader {
 public:
  Reader(Bytes bytes, const std::string& name) : bytes_(bytes), name_(name) {}

  template <class... Args>
  [[noreturn]] void refuse(fmt::format_string<Args...> format, Args&&... args) const {
    fail("{}: {}", name_, fmt::format(format, std::forward<Args>(args)...));
  }

  const std::uint8_t* at(std::size_t offset, std::size_t count) const {
    if (offset > bytes_.size() || count > bytes_.size() - offset)
      refuse("broken BMP picture: the data ends early, the file is truncated");
    return reinterpret_cast<const std::uint8_t*>(bytes_.data()) + offset;
  }
  std::uint16_t u16(std::size_t offset) const {
    const std::uint8_t* b = at(offset, 2);
    return static_cast<std::uint16_t>(b[0] | b[1] << 8);
  }
  std::uint32_t u32(std::size_t offset) const {
    return u16(offset) | static_cast<std::uint32_t>(u16(offset + 2)) << 16;
  }
  std::int32_t i32(std::size_t offset) const { return static_cast<std::int32_t>(u32(offset)); }

 private:
  Bytes bytes_;
  const std::string& name_;
};

Masks read_masks(const Reader& file, int bits) {
  // Beyond the 40 bytes of the oldest header, whether that counts them or not.
  const std::size_t at = kFileHeader + kInfoHeader;
  const Masks masks = {file.u32(at), file.u32(at + 4), file.u32(at + 8)};
  if (bits == 16 && (masks == kMasks555 || masks == kMasks565)) return masks;
  if (bits == 24 && masks == kMasks888) return masks;
  const auto is_byte = [](std::uint32_t m) {
    return m == 0xff || m == 0xff00 || m == 0xff0000 || m == 0xff000000;
  };
  const bool differ = masks[0] != masks[1] && masks[0] != masks[2] && masks[1] != masks[2];
  if (bits == 32 && masks == Masks{}) return kMasks888;
  if (bits == 32 && differ && is_byte(masks[0]) && is_byte(masks[1]) && is_byte(masks[2])) return masks;
  file.refuse(
      "a BMP picture of {} bits with the color masks {:x}, {:x}, {:x}, which octet does not read; save it as "
      "PNG",
      bits, masks[0], masks[1], masks[2]);
}

// As many colors as the pixels can name; what the file does not have is black.
std::vector<Color> read_palette(const Reader& file, std::size_t at, std::size_t count,
                                std::size_t bytes_per_color, int bits) {
  std::vector<Color> palette(std::size_t{1} << bits);
  count = std::min(count, palette.size());
  const std::uint8_t* from = file.at(at, count * bytes_per_color);
  for (std::size_t i = 0; i < count; ++i, from += bytes_per_color) palette[i] = {from[2], from[1], from[0]};
  return palette;
}

Header read_header(const Reader& file) {
  const std::uint32_t size = file.u32(kFileHeader);
  if (std::find(kHeaders.begin(), kHeaders.end(), size) == kHeaders.end())
    file.refuse("broken BMP picture: there is no header of {} bytes", size);
  const bool is_core = size == kCoreHeader;
  file.at(kFileHeader, size);

  Header header;
  std::uint32_t compression = kNone, colors = 0;
  if (is_core) {
    header.width = file.u16(18);
    header.height = file.u16(20);
    header.bits = file.u16(24);
  } else {
    header.width = file.i32(18);
    header.height = file.i32(22);
    header.bits = file.u16(28);
    compression = file.u32(30);
    colors = file.u32(46);
  }
  header.is_top_down = header.height < 0;
  header.height = std::abs(header.height);
  if (header.width <= 0 || header.height == 0)
    file.refuse("broken BMP picture: it has {}x{} pixels", header.width, header.height);

  const int bits = header.bits;
  if (bits != 1 && bits != 4 && bits != 8 && bits != 16 && bits != 24 && bits != 32)
    file.refuse("broken BMP picture: there are no pixels of {} bits", bits);
  if (compression != kNone && (compression != kBitFields || bits < 16)) {
    if (compression >= kCompressionNames.size())
      file.refuse("broken BMP picture: there is no compression {}", compression);
    file.refuse("a BMP picture with compression ({}), which octet does not read; save it as PNG",
                kCompressionNames[compression]);
  }

  std::size_t end = kFileHeader + size;  // of all that comes before the pixels
  if (compression == kBitFields) {
    header.masks = read_masks(file, bits);
    if (size == kInfoHeader) end += 12;
  } else {
    header.masks = bits == 16 ? kMasks555 : kMasks888;
  }
  if (bits <= 8) {
    const std::size_t bytes_per_color = is_core ? 3 : 4;
    const std::size_t count = colors == 0 ? std::size_t{1} << bits : colors;
    header.palette = read_palette(file, end, count, bytes_per_color, bits);
    end += std::min(count, header.palette.size()) * bytes_per_color;
  }
  header.pixels_at = file.u32(10);
  if (header.pixels_at == 0) header.pixels_at = end;
  if (header.pixels_at < kFileHeader + size)
    file.refuse("broken BMP picture: the pixels begin inside of the header");
  return header;
}

// The value under a mask, spread to 0 ... 255 as Pillow does.
std::uint8_t spread(std::uint32_t pixel, std::uint32_t mask) {
  const std::uint32_t lowest = mask & (~mask + 1);
  return static_cast<std::uint8_t>(((pixel & mask) / lowest) * 255 / (mask / lowest));
}

void read_row(const Header& header, const std::uint8_t* from, std::uint8_t* to) {
  const int bits = header.bits;
  for (std::int64_t x = 0; x < header.width; ++x, to += Image::kChannels) {
    if (bits <= 8) {
      const std::int64_t first_bit = x * bits;
      const int shift = 8 - bits - static_cast<int>(first_bit % 8);
      const int color = from[first_bit / 8] >> shift & ((1 << bits) - 1);
      std::ranges::copy(header.palette[static_cast<std::size_t>(color)], to);
      continue;
    }
    std::uint32_t pixel = 0;
    for (int byte = 0; byte < bits / 8; ++byte) pixel |= std::uint32_t{*from++} << (8 * byte);
    for (std::size_t c = 0; c < 3; ++c) to[c] = spread(pixel, header.masks[c]);
  }
}

}  // namespace

Image decode_bmp(Bytes bytes, const std::string& name) {
  const Reader file(bytes, name);
  const Header header = read_header(file);
  check_pixel_count(header.width, header.height, name);
  const std::size_t stride = header.stride();
  const std::uint8_t* rows = file.at(header.pixels_at, stride * static_cast<std::size_t>(header.height));
  Image image(static_cast<int>(header.width), static_cast<int>(header.height));
  for (int y = 0; y < image.height; ++y) {
    const int row = header.is_top_down ? y : image.height - 1 - y;
    read_row(header, rows + stride * static_cast<std::size_t>(row), image.row(y));
  }
  return image;
}

}  // namespace octet
