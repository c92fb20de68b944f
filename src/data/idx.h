#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/file.h"
#include "data/image.h"

namespace octet {

// The files of MNIST, Fashion-MNIST and their like, http://yann.lecun.com/exdb/mnist: numbers of a byte each
// behind their dimensions, plain or packed by gzip. Pictures are gray.

// All pictures of a file, in memory.
struct IdxPictures {
  std::int64_t count = 0;
  int width = 0;
  int height = 0;
  std::vector<std::uint8_t> pixels;

  // Number i, with three equal channels.
  Image picture(std::int64_t i) const;
};

IdxPictures load_idx_pictures(const std::filesystem::path& path);
std::vector<std::uint8_t> load_idx_labels(const std::filesystem::path& path);

// The same from the bytes of a file; errors begin with `name`.
IdxPictures read_idx_pictures(Bytes bytes, const std::string& name);
std::vector<std::uint8_t> read_idx_labels(Bytes bytes, const std::string& name);

}  // namespace octet
