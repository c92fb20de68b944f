#include "data/mask.h"

#include <png.h>

#include <algorithm>

#include "base/error.h"

namespace octet {

Mask load_mask(const std::filesystem::path& path) {
  MappedFile file(path);
  return decode_mask(file.bytes(), path.string());
}

void check_classes(Mask& mask, std::int64_t classes, int ignore_index, const std::string& name) {
  std::array<bool, 256> is_there{};
  for (std::uint8_t id : mask.pixels) is_there[id] = true;
  for (int id = 0; id < 256; ++id) {
    const bool is_class = classes == 0 || id < classes;
    if (!is_there[static_cast<std::size_t>(id)] || id == ignore_index || is_class) continue;
    const auto at = std::ranges::find(mask.pixels, id) - mask.pixels.begin();
    fail("{}: class {} at column {}, row {}, and num_classes is {}; pixels of no class have {}", name, id,
         at % mask.width, at / mask.width, classes, ignore_index);
  }
  if (ignore_index != Mask::kIgnored && ignore_index >= 0 && ignore_index < 256)
    std::ranges::replace(mask.pixels, static_cast<std::uint8_t>(ignore_index), Mask::kIgnored);
}

std::array<std::uint8_t, 3> color_of_class(int id) {
  std::array<std::uint8_t, 3> color{};
  for (int bits = id + 1, j = 7; bits > 0 && j >= 0; bits >>= 3, --j)
    for (int c = 0; c < 3; ++c)
      color[static_cast<std::size_t>(c)] |= static_cast<std::uint8_t>(((bits >> c) & 1) << j);
  return color;
}

std::string encode_mask(const Mask& mask, const std::vector<std::array<std::uint8_t, 3>>& colors) {
  check(mask.width > 0 && mask.height > 0, "a mask to encode has pixels");
  constexpr std::size_t kColors = 256;
  std::vector<std::uint8_t> palette;
  for (std::size_t id = 0; id < kColors; ++id) {
    const auto color = id < colors.size() ? colors[id] : color_of_class(static_cast<int>(id));
    palette.insert(palette.end(), color.begin(), color.end());
  }
  png_image header{};
  header.version = PNG_IMAGE_VERSION;
  header.width = static_cast<png_uint_32>(mask.width);
  header.height = static_cast<png_uint_32>(mask.height);
  header.format = PNG_FORMAT_RGB_COLORMAP;
  header.colormap_entries = kColors;
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(header) + palette.size() + 64;
  std::string bytes(size, '\0');
  if (!png_image_write_to_memory(&header, bytes.data(), &size, 0, mask.pixels.data(), 0, palette.data()))
    fail("a mask cannot be encoded: {}", header.message);
  bytes.resize(size);
  return bytes;
}

}  // namespace octet
