#include "data/image.h"

#include <algorithm>
#include <cctype>

#include "base/error.h"

namespace octet {
namespace fs = std::filesystem;

namespace {

bool starts_with(Bytes bytes, std::string_view magic) {
  return as_text(bytes.first(std::min(bytes.size(), magic.size()))) == magic;
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

Image decode_image(Bytes bytes, const std::string& name) {
  if (starts_with(bytes, "\xff\xd8\xff")) return decode_jpeg(bytes, name);
  if (starts_with(bytes, "\x89PNG\r\n\x1a\n")) return decode_png(bytes, name);
  if (bytes.empty()) fail("{}: not a JPEG or PNG picture (the file is empty)", name);
  fail("{}: not a JPEG or PNG picture (starts with '{}')", name, first_bytes(bytes));
}

Image load_image(const fs::path& path) {
  MappedFile file(path);
  return decode_image(file.bytes(), path.string());
}

bool is_picture_name(const fs::path& path) {
  std::string extension = path.extension().string();
  for (char& c : extension) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return extension == ".jpg" || extension == ".jpeg" || extension == ".png";
}

std::vector<fs::path> list_images(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) fail("{}: no such file or folder", path.string());
  if (!fs::is_directory(status)) return {path};

  std::vector<fs::path> paths;
  for (fs::recursive_directory_iterator it(path, error), end; !error && it != end; it.increment(error)) {
    std::error_code ignored;
    if (it->path().filename().native().starts_with('.'))
      it.disable_recursion_pending();
    else if (is_picture_name(it->path()) && it->is_regular_file(ignored))
      paths.push_back(it->path());
  }
  if (error) fail("{}: cannot read the folder: {}", path.string(), error.message());
  if (paths.empty()) fail("{}: no pictures (*.jpg, *.jpeg, *.png) in this folder or below", path.string());
  std::sort(paths.begin(), paths.end());
  return paths;
}

}  // namespace octet
