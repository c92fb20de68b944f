#include <png.h>

#include "base/error.h"
#include "data/image.h"

namespace octet {

std::string encode_png(const Image& image) {
  check(image.width > 0 && image.height > 0, "a picture to encode has pixels");
  png_image header{};
  header.version = PNG_IMAGE_VERSION;
  header.width = static_cast<png_uint_32>(image.width);
  header.height = static_cast<png_uint_32>(image.height);
  header.format = PNG_FORMAT_RGB;
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(header);
  std::string bytes(size, '\0');
  if (!png_image_write_to_memory(&header, bytes.data(), &size, 0, image.pixels.data(), 0, nullptr))
    fail("a PNG picture cannot be encoded: {}", header.message);
  bytes.resize(size);
  return bytes;
}

}  // namespace octet
