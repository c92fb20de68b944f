#include "data/image.h"

#include <algorithm>
#include <cctype>

#include "base/error.h"
#include "base/folder.h"
#include "base/memory.h"

namespace octet {
namespace fs = std::filesystem;

namespace {

// A kind of picture, known by its first bytes: what is between `begin` and, eight bytes into the file, `then`
// does not matter.
struct Format {
  std::string_view begin;
  std::string_view then;
  std::vector<std::string_view> extensions;
  Image (*decode)(Bytes bytes, const std::string& name, const NeededPart& needed);
};

template <Image (*Decode)(Bytes bytes, const std::string& name)>
Image whole(Bytes bytes, const std::string& name, const NeededPart&) {
  return Decode(bytes, name);
}

// A new kind gets a row here; image.h has its decoder and kPictureNames.
const std::vector<Format>& formats() {
  static const std::vector<Format> rows = {{"\xff\xd8\xff", "", {".jpg", ".jpeg"}, decode_jpeg},
                                           {"\x89PNG\r\n\x1a\n", "", {".png"}, whole<decode_png>},
                                           {"RIFF", "WEBP", {".webp"}, whole<decode_webp>},
                                           {"BM", "", {".bmp"}, whole<decode_bmp>}};
  return rows;
}

bool is_of(const Format& format, Bytes bytes) {
  const std::string_view text = as_text(bytes);
  return text.starts_with(format.begin) &&
         (format.then.empty() || text.substr(std::min<std::size_t>(text.size(), 8)).starts_with(format.then));
}

// The first bytes for a message: what can be printed as it is, the rest as \xNN.
std::string first_bytes(Bytes bytes) {
  std::string text;
  for (std::byte byte : bytes.first(std::min<std::size_t>(bytes.size(), 8))) {
    const auto c = static_cast<unsigned char>(byte);
    if (c >= 0x20 && c < 0x7f && c != '\\')
      text += static_cast<char>(c);
    else
      text += fmt::format("\\x{:02x}", c);
  }
  return text;
}

}  // namespace

Image decode_image(Bytes bytes, const std::string& name, const NeededPart& needed) {
  for (const Format& format : formats())
    if (is_of(format, bytes))
      return with_memory([&] { return name + " as pixels"; },
                         [&] { return format.decode(bytes, name, needed); });
  fail("{}: not a JPEG, PNG, WebP or BMP picture ({})", name,
       bytes.empty() ? "the file is empty" : fmt::format("starts with '{}'", first_bytes(bytes)));
}

void check_pixel_count(std::int64_t width, std::int64_t height, const std::string& name) {
  if (width > kMaxImagePixels || height > kMaxImagePixels || width * height > kMaxImagePixels)
    fail("{}: {}x{} pixels, more than the {} million that octet reads", name, width, height,
         kMaxImagePixels / 1000000);
}

void check_decoder_memory(std::int64_t memory, const char* kind, std::int64_t width, std::int64_t height,
                          std::int64_t file_size, const std::string& name) {
  constexpr std::int64_t kAlways = 128 << 20, kPerByte = 64;
  if (memory / kPerByte > kAlways / kPerByte + file_size)
    fail(
        "{}: {} picture of {}x{} pixels takes {} MB to decode, too much for a file of {} bytes; save it as "
        "PNG",
        name, kind, width, height, memory >> 20, file_size);
}

Image load_image(const fs::path& path, const NeededPart& needed) {
  MappedFile file(path);
  return decode_image(file.bytes(), path.string(), needed);
}

bool is_picture_name(const fs::path& path) {
  std::string extension = path.extension().string();
  for (char& c : extension) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return std::ranges::any_of(formats(), [&](const Format& format) {
    return std::ranges::find(format.extensions, extension) != format.extensions.end();
  });
}

std::vector<fs::path> list_images(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) fail("{}: no such file or folder", path.string());
  if (!fs::is_directory(status)) return {path};

  std::vector<fs::path> paths = list_files_below(path);
  std::erase_if(paths, [](const fs::path& file) { return !is_picture_name(file); });
  if (paths.empty()) fail("{}: no pictures ({}) in this folder or below", path.string(), kPictureNames);
  return paths;
}

}  // namespace octet
