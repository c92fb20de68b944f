#pragma once
#include <png.h>
#include <webp/encode.h>

#include <array>
#include <cstdio>  // jpeglib.h needs FILE
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include <jpeglib.h>

#include "data/image.h"

namespace octet {

// A picture in which every pixel and channel differs from its neighbours.
inline Image test_image(int width, int height) {
  Image image(width, height);
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x)
      for (int c = 0; c < 3; ++c)
        image.row(y)[3 * x + c] = static_cast<std::uint8_t>(x * 37 + y * 91 + c * 53 + x * y);
  return image;
}

struct JpegKind {
  bool progressive = false;
  int quality = 90;
  int across = 2, down = 2;  // of RGB: pixels that share their color
  unsigned restart = 0;      // a marker after so many blocks; 0: none
};

// Samples as a JPEG file of 1 (gray), 3 (RGB) or 4 (CMYK) channels.
inline std::string encode_jpeg(int width, int height, int channels, std::vector<std::uint8_t> samples,
                               const JpegKind& kind = {}) {
  jpeg_compress_struct info{};
  jpeg_error_mgr errors{};
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  unsigned char* data = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&info, &data, &size);
  info.image_width = static_cast<JDIMENSION>(width);
  info.image_height = static_cast<JDIMENSION>(height);
  info.input_components = channels;
  info.in_color_space = channels == 1 ? JCS_GRAYSCALE : channels == 3 ? JCS_RGB : JCS_CMYK;
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, kind.quality, TRUE);
  if (channels == 3) {
    info.comp_info[0].h_samp_factor = kind.across;
    info.comp_info[0].v_samp_factor = kind.down;
  }
  info.restart_interval = kind.restart;
  if (kind.progressive) jpeg_simple_progression(&info);
  jpeg_start_compress(&info, TRUE);
  for (int y = 0; y < height; ++y) {
    JSAMPROW row = samples.data() + static_cast<std::size_t>(y) * static_cast<std::size_t>(width * channels);
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  std::string file(reinterpret_cast<char*>(data), size);
  std::free(data);
  return file;
}

inline std::string encode_jpeg(const Image& image, bool progressive) {
  return encode_jpeg(image.width, image.height, 3, image.pixels, {.progressive = progressive});
}

struct PngKind {
  int color = PNG_COLOR_TYPE_RGB;
  int depth = 8;
  bool interlaced = false;
  std::vector<png_color> palette = {};
};

// Samples, packed as the kind says, as a PNG file. Without samples the file ends where they would begin.
inline std::string encode_png(std::uint32_t width, std::uint32_t height, std::vector<std::uint8_t> samples,
                              const PngKind& kind = {}) {
  const auto on_error = [](png_structp, png_const_charp message) { throw std::runtime_error(message); };
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, on_error, nullptr);
  png_infop info = png_create_info_struct(png);
  std::string file;
  const auto append = [](png_structp to, png_bytep data, std::size_t size) {
    static_cast<std::string*>(png_get_io_ptr(to))->append(reinterpret_cast<char*>(data), size);
  };
  png_set_write_fn(png, &file, append, [](png_structp) {});
  png_set_user_limits(png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
  png_set_IHDR(png, info, width, height, kind.depth, kind.color,
               kind.interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
               PNG_FILTER_TYPE_DEFAULT);
  if (!kind.palette.empty())
    png_set_PLTE(png, info, kind.palette.data(), static_cast<int>(kind.palette.size()));
  png_write_info(png, info);
  if (samples.empty()) {
    png_write_chunk(png, reinterpret_cast<png_const_bytep>("IDAT"), nullptr, 0);
  } else {
    const std::size_t stride = png_get_rowbytes(png, info);
    std::vector<png_bytep> rows;
    for (std::size_t y = 0; y < height; ++y) rows.push_back(samples.data() + y * stride);
    png_write_image(png, rows.data());
    png_write_end(png, info);
  }
  png_destroy_write_struct(&png, &info);
  return file;
}

inline std::string encode_webp(const Image& image, bool lossless, float quality = 80) {
  std::uint8_t* data = nullptr;
  const int stride = static_cast<int>(image.stride());
  const std::size_t size =
      lossless ? WebPEncodeLosslessRGB(image.pixels.data(), image.width, image.height, stride, &data)
               : WebPEncodeRGB(image.pixels.data(), image.width, image.height, stride, quality, &data);
  std::string file(reinterpret_cast<char*>(data), size);
  WebPFree(data);
  return file;
}

// `number` in little-endian order.
inline std::string little_endian(std::int64_t number, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i, number >>= 8) text += static_cast<char>(number & 255);
  return text;
}

struct BmpKind {
  int bits = 24;
  int compression = 0;
  std::vector<std::uint32_t> masks = {};
  std::vector<std::array<std::uint8_t, 3>> palette = {};  // red, green, blue
};

// A BMP file with Windows's header of 40 bytes. `rows` are the bytes of the pixels as the file has them; a
// negative height says that the first is the uppermost.
inline std::string encode_bmp(int width, int height, const std::string& rows, const BmpKind& kind = {}) {
  std::string before;
  for (std::uint32_t mask : kind.masks) before += little_endian(mask, 4);
  for (const auto& color : kind.palette)
    before += little_endian(color[2], 1) + little_endian(color[1], 1) + little_endian(color[0], 2);
  return "BM" + little_endian(54 + std::ssize(before) + std::ssize(rows), 4) + little_endian(0, 4) +
         little_endian(54 + std::ssize(before), 4) + little_endian(40, 4) + little_endian(width, 4) +
         little_endian(height, 4) + little_endian(1, 2) + little_endian(kind.bits, 2) +
         little_endian(kind.compression, 4) + little_endian(0, 12) +
         little_endian(std::ssize(kind.palette), 4) + little_endian(0, 4) + before + rows;
}

}  // namespace octet
