#include "base/folder.h"

#include <dirent.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "base/error.h"

namespace octet {
namespace fs = std::filesystem;

std::vector<fs::path> list_folder(const fs::path& folder) {
  const std::unique_ptr<DIR, int (*)(DIR*)> open(::opendir(folder.c_str()), ::closedir);
  std::vector<fs::path> paths;
  for (;;) {
    errno = open ? 0 : errno;
    const dirent* entry = open ? ::readdir(open.get()) : nullptr;
    if (!entry && errno != 0) fail("{}: cannot read the folder: {}", folder.string(), std::strerror(errno));
    if (!entry) break;
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") paths.push_back(folder / name);
  }
  std::ranges::sort(paths);
  return paths;
}

std::vector<fs::path> list_files_below(const fs::path& folder) {
  std::vector<fs::path> files, folders = {folder};
  while (!folders.empty()) {
    const fs::path next = std::move(folders.back());
    folders.pop_back();
    for (const fs::path& path : list_folder(next)) {
      std::error_code error;
      if (path.filename().native().starts_with('.')) continue;
      if (fs::symlink_status(path, error).type() == fs::file_type::directory)
        folders.push_back(path);
      else if (fs::is_regular_file(path, error))
        files.push_back(path);
    }
  }
  std::ranges::sort(files);
  return files;
}

}  // namespace octet
