#pragma once
#include <filesystem>
#include <string>
#include <vector>

namespace octet::cli {

// A picture, and what an answer to it is called: its path below the folder that was given, or its own name.
struct Picture {
  std::filesystem::path path, name;
};

// What `--image-path` means: a picture, a folder of them, with those in its subfolders, or a list with a path
// at the beginning of each line, relative to the list's folder.
std::vector<Picture> find_pictures(const std::string& path);

}  // namespace octet::cli
