#pragma once
#include <filesystem>
#include <vector>

namespace octet {

// What is in a folder, sorted. An Error when it can't be read. (The standard library's iterators end the
// program when there is no memory for the next name.)
std::vector<std::filesystem::path> list_folder(const std::filesystem::path& folder);

// The files in it and in the folders below, sorted. What begins with a dot is left out, and links to folders
// are not followed: they could lead back.
std::vector<std::filesystem::path> list_files_below(const std::filesystem::path& folder);

}  // namespace octet
