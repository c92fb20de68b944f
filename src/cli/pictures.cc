#include "cli/pictures.h"

#include "base/error.h"
#include "base/file.h"
#include "data/image.h"
#include "data/lines.h"

namespace octet::cli {

namespace {

namespace fs = std::filesystem;

// A path that stays below where it is put: "../a/b.jpg" is b.jpg.
fs::path name_below(const fs::path& path) {
  const fs::path normal = path.lexically_normal();
  return normal.is_absolute() || normal.begin()->string() == ".." ? normal.filename() : normal;
}

}  // namespace

std::vector<Picture> find_pictures(const std::string& path) {
  std::error_code error;
  std::vector<Picture> pictures;
  if (fs::is_directory(path, error) || is_picture_name(path) || !fs::exists(path, error)) {
    const bool is_folder = fs::is_directory(path, error);
    for (const fs::path& picture : list_images(path))
      pictures.push_back(
          {picture, is_folder ? name_below(picture.lexically_relative(path)) : picture.filename()});
    return pictures;
  }
  constexpr std::size_t kMaxBytes = 64 << 20;
  const std::string text = read_text(path, kMaxBytes);
  const fs::path folder = fs::path(path).parent_path();
  if (text.find('\0') != std::string::npos)
    fail("{}: neither a picture ({}) nor a list of them", path, kPictureNames);
  for (const Line& line : lines_of(text, path)) {
    const fs::path name = std::string(line.text.substr(0, line.text.find_first_of(" \t")));
    if (!fs::is_regular_file(folder / name, error))
      fail("{}: there is no picture {}; paths are relative to the list's folder", line.where,
           printable((folder / name).string()));
    pictures.push_back({folder / name, name_below(name)});
  }
  if (pictures.empty()) fail("{}: an empty list", path);
  return pictures;
}

}  // namespace octet::cli
