#pragma once
#include <zlib.h>

#include "support/temp_dir.h"
#include "tensor/npy.h"

namespace octet {

// An archive as numpy.savez writes it, or, packed, numpy.savez_compressed.
inline std::string make_npz(const std::vector<std::pair<std::string, Tensor>>& arrays, bool packed = false) {
  TempDir dir;
  const auto number = [](std::uint64_t value, std::size_t size) {
    std::string bytes;
    for (std::size_t i = 0; i < size; ++i, value >>= 8) bytes += static_cast<char>(value & 255);
    return bytes;
  };
  std::string file, directory;
  for (const auto& [name, array] : arrays) {
    save_npy(dir / "x.npy", array);
    const std::string content = read_file(dir / "x.npy"), entry = name + ".npy";
    std::string data = content;
    if (packed) {
      data.resize(compressBound(content.size()));
      uLongf size = data.size();
      compress(reinterpret_cast<Bytef*>(data.data()), &size, reinterpret_cast<const Bytef*>(content.data()),
               content.size());
      data = data.substr(2, size - 6);  // without zlib's header and checksum
    }
    const auto checksum =
        crc32(0, reinterpret_cast<const Bytef*>(content.data()), static_cast<uInt>(content.size()));
    const std::string about = number(packed ? 8 : 0, 2) + number(0, 4) + number(checksum, 4) +
                              number(data.size(), 4) + number(content.size(), 4) + number(entry.size(), 2) +
                              number(0, 2);
    directory += "PK\1\2" + number(20, 2) + number(20, 2) + number(0, 2) + about + number(0, 10) +
                 number(file.size(), 4) + entry;
    file += "PK\3\4" + number(20, 2) + number(0, 2) + about + entry + data;
  }
  return file + directory + "PK\5\6" + number(0, 4) + number(arrays.size(), 2) + number(arrays.size(), 2) +
         number(directory.size(), 4) + number(file.size(), 4) + number(0, 2);
}

}  // namespace octet
