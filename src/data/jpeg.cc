#include <algorithm>
#include <csetjmp>
#include <cstdio>  // jpeglib.h needs FILE and size_t
#include <cstdlib>
#include <cstring>

// After <cstdio>.
#include <jerror.h>
#include <jpeglib.h>

#include "base/error.h"
#include "data/image.h"

namespace octet {

namespace {

// libjpeg reports errors by calling a function that may not return, so that function longjmps. Everything
// that a jump can skip is in the functions below that call setjmp, and those own nothing.
struct Reader {
  jpeg_decompress_struct info;  // first, so that libjpeg's pointer to it is a pointer to this
  jpeg_error_mgr errors;
  jpeg_source_mgr source;
  jpeg_progress_mgr progress;
  std::jmp_buf escape;
  char message[JMSG_LENGTH_MAX];
};

// More scans than any encoder writes (ten are usual): a small progressive
// file can ask for endless passes over a large picture.
constexpr int kMaxScans = 64;
// A Huffman-coded block takes at least one bit, so a byte holds at most eight blocks of 8x8 pixels.
constexpr std::int64_t kMaxPixelsPerByte = 512;

Reader* reader_of(j_common_ptr info) {
  return reinterpret_cast<Reader*>(info);
}

[[noreturn]] void escape(j_common_ptr info, const char* message) {
  Reader* reader = reader_of(info);
  std::snprintf(reader->message, sizeof reader->message, "%s", message);
  std::longjmp(reader->escape, 1);
}

[[noreturn]] void on_error(j_common_ptr info) {
  char message[JMSG_LENGTH_MAX];
  info->err->format_message(info, message);
  escape(info, message);
}

void on_message(j_common_ptr) {}
void on_warning(j_common_ptr, int) {}

void on_progress(j_common_ptr info) {
  if (reinterpret_cast<j_decompress_ptr>(info)->input_scan_number > kMaxScans) escape(info, "too many scans");
}

void do_nothing(j_decompress_ptr) {}

// The whole file is in memory, so whoever asks for more has reached its end.
boolean on_end(j_decompress_ptr info) {
  escape(reinterpret_cast<j_common_ptr>(info), "the data ends early, the file is truncated");
}

void skip(j_decompress_ptr info, long bytes) {
  if (bytes <= 0) return;
  jpeg_source_mgr* source = info->src;
  if (static_cast<unsigned long>(bytes) > source->bytes_in_buffer) on_end(info);
  source->next_input_byte += bytes;
  source->bytes_in_buffer -= static_cast<std::size_t>(bytes);
}

bool read_header(Reader* reader, const JOCTET* data, std::size_t size) {
  reader->info.err = jpeg_std_error(&reader->errors);
  reader->errors.error_exit = on_error;
  reader->errors.output_message = on_message;
  reader->errors.emit_message = on_warning;
  if (setjmp(reader->escape)) return false;
  jpeg_create_decompress(&reader->info);
  reader->source = {data, size, do_nothing, on_end, skip, jpeg_resync_to_restart, do_nothing};
  reader->info.src = &reader->source;
  reader->progress.progress_monitor = on_progress;
  reader->info.progress = &reader->progress;
  jpeg_read_header(&reader->info, TRUE);
  return true;
}

// Where a picture comes in several scans, all of its coefficients are kept until the last one.
std::int64_t coefficient_bytes(const jpeg_decompress_struct& info) {
  std::int64_t blocks = 0;
  for (int i = 0; i < info.num_components; ++i)
    blocks += std::int64_t{info.comp_info[i].width_in_blocks} * info.comp_info[i].height_in_blocks;
  return blocks * static_cast<std::int64_t>(sizeof(JBLOCK));
}

// Adobe's CMYK: stored inverted, so that 255 is no ink.
void cmyk_to_rgb(const std::uint8_t* from, std::uint8_t* to, int pixels) {
  for (int i = 0; i < pixels; ++i, from += 4, to += 3) {
    const int white = from[3];  // 255 - black
    for (int c = 0; c < 3; ++c) {
      const int product = (255 - from[c]) * white + 128;
      to[c] = static_cast<std::uint8_t>(white - (((product >> 8) + product) >> 8));  // product / 255, rounded
    }
  }
}

// Decoding a part alone takes less time: what lies above, below and beside it is only taken apart into
// coefficients. Pixels at its edges depend on their neighbours where color has less resolution, so a few more
// are decoded on the left and on the right, and libjpeg does it above.
bool read_part(Reader* reader, Image* image, const Box* part) {
  constexpr int kMargin = 4;
  if (setjmp(reader->escape)) return false;
  j_decompress_ptr info = &reader->info;
  info->out_color_space = JCS_RGB;
  jpeg_start_decompress(info);
  auto left = static_cast<JDIMENSION>(std::max(part->left - kMargin, 0));
  JDIMENSION width =
      static_cast<JDIMENSION>(std::min(part->left + part->width + kMargin, image->width)) - left;
  jpeg_crop_scanline(info, &left, &width);
  jpeg_skip_scanlines(info, static_cast<JDIMENSION>(part->top));
  for (int y = part->top; y < part->top + part->height; ++y) {
    image->pixels.resize(image->stride() * (static_cast<std::size_t>(y) + 1));
    JSAMPROW row = image->row(y) + left * std::size_t{Image::kChannels};
    jpeg_read_scanlines(info, &row, 1);
  }
  // To the end, so that a file that is broken there is found to be.
  image->pixels.resize(image->stride() * static_cast<std::size_t>(image->height));
  if (info->output_scanline < info->output_height) {
    jpeg_skip_scanlines(info, info->output_height - info->output_scanline - 1);
    JSAMPROW row = image->row(image->height - 1);
    jpeg_read_scanlines(info, &row, 1);
  }
  jpeg_finish_decompress(info);
  return true;
}

// Whether that is worth it, and possible: where a picture comes in several scans all coefficients are
// computed before the first row.
bool can_read_part(Reader& reader, const Box& part) {
  const jpeg_decompress_struct& info = reader.info;
  const std::int64_t pixels = std::int64_t{info.image_width} * info.image_height;
  constexpr int kMinSide = 64;
  return info.num_components <= 3 && !jpeg_has_multiple_scans(&reader.info) &&
         std::min(part.width, part.height) >= kMinSide &&
         std::int64_t{part.width} * part.height * 10 < pixels * 9;
}

// `cmyk_row` has room for a row of four channels when the picture has them.
bool read_pixels(Reader* reader, Image* image, std::uint8_t* cmyk_row) {
  if (setjmp(reader->escape)) return false;
  j_decompress_ptr info = &reader->info;
  info->out_color_space = cmyk_row ? JCS_CMYK : JCS_RGB;
  jpeg_start_decompress(info);
  while (info->output_scanline < info->output_height) {
    const int y = static_cast<int>(info->output_scanline);
    image->pixels.resize(image->stride() * (static_cast<std::size_t>(y) + 1));
    JSAMPROW row = cmyk_row ? cmyk_row : image->row(y);
    jpeg_read_scanlines(info, &row, 1);
    if (cmyk_row) cmyk_to_rgb(cmyk_row, image->row(y), image->width);
  }
  jpeg_finish_decompress(info);
  return true;
}

// The same for writing, where only a lack of memory or an impossible size can end in an error.
struct Writer {
  jpeg_compress_struct info;  // first, as in Reader
  jpeg_error_mgr errors;
  std::jmp_buf escape;
  char message[JMSG_LENGTH_MAX];
  unsigned char* data;
  unsigned long size;
};

[[noreturn]] void on_write_error(j_common_ptr info) {
  auto* writer = reinterpret_cast<Writer*>(info);
  info->err->format_message(info, writer->message);
  std::longjmp(writer->escape, 1);
}

bool write_pixels(Writer* writer, const Image& image, int quality) {
  j_compress_ptr info = &writer->info;
  info->err = jpeg_std_error(&writer->errors);
  writer->errors.error_exit = on_write_error;
  if (setjmp(writer->escape)) return false;
  jpeg_create_compress(info);
  jpeg_mem_dest(info, &writer->data, &writer->size);
  info->image_width = static_cast<JDIMENSION>(image.width);
  info->image_height = static_cast<JDIMENSION>(image.height);
  info->input_components = Image::kChannels;
  info->in_color_space = JCS_RGB;
  jpeg_set_defaults(info);
  jpeg_set_quality(info, quality, TRUE);
  jpeg_start_compress(info, TRUE);
  for (int y = 0; y < image.height; ++y) {
    auto* row = const_cast<JSAMPROW>(image.row(y));  // libjpeg does not write to it
    jpeg_write_scanlines(info, &row, 1);
  }
  jpeg_finish_compress(info);
  return true;
}

}  // namespace

std::string encode_jpeg(const Image& image, int quality) {
  struct Owner {
    Writer writer{};
    ~Owner() {
      jpeg_destroy_compress(&writer.info);
      std::free(writer.data);
    }
  } owner;
  Writer& writer = owner.writer;
  if (!write_pixels(&writer, image, quality))
    fail("a picture of {}x{} pixels can't be written as JPEG: {}", image.width, image.height, writer.message);
  return {reinterpret_cast<char*>(writer.data), writer.size};
}

Image decode_jpeg(Bytes bytes, const std::string& name, const NeededPart& needed) {
  struct Owner {
    Reader reader{};
    ~Owner() { jpeg_destroy_decompress(&reader.info); }
  } owner;
  Reader& reader = owner.reader;
  if (!read_header(&reader, reinterpret_cast<const JOCTET*>(bytes.data()), bytes.size()))
    fail("{}: broken JPEG picture: {}", name, reader.message);

  const auto& info = reader.info;
  const std::int64_t pixels = std::int64_t{info.image_width} * info.image_height;
  check_pixel_count(info.image_width, info.image_height, name);
  if (pixels / kMaxPixelsPerByte > static_cast<std::int64_t>(bytes.size()))
    fail("{}: broken JPEG picture: {} bytes are too few for {}x{} pixels", name, bytes.size(),
         info.image_width, info.image_height);
  if (info.num_components != 1 && info.num_components != 3 && info.num_components != 4)
    fail("{}: a JPEG picture of {} channels is neither gray, color nor CMYK", name, info.num_components);
  if (jpeg_has_multiple_scans(&reader.info))
    check_decoder_memory(coefficient_bytes(info), "a progressive JPEG", info.image_width, info.image_height,
                         static_cast<std::int64_t>(bytes.size()), name);

  Image image;
  image.width = static_cast<int>(info.image_width);
  image.height = static_cast<int>(info.image_height);
  // Reserved, not filled: memory is taken row by row as far as the data goes.
  image.pixels.reserve(static_cast<std::size_t>(pixels) * Image::kChannels);
  const Box part = needed ? needed(image.width, image.height) : Box{0, 0, image.width, image.height};
  std::vector<std::uint8_t> cmyk_row(info.num_components == 4 ? info.image_width * std::size_t{4} : 0);
  const bool is_read = can_read_part(reader, part)
                           ? read_part(&reader, &image, &part)
                           : read_pixels(&reader, &image, cmyk_row.empty() ? nullptr : cmyk_row.data());
  if (!is_read) fail("{}: broken JPEG picture: {}", name, reader.message);
  return image;
}

}  // namespace octet
