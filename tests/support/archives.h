#pragma once
#include <zlib.h>

#include <cstdio>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace octet {

// Names and contents; a name that ends in a slash is a folder.
using ArchiveFiles = std::vector<std::pair<std::string, std::string>>;

// A tar archive; `type` is that of all entries that are no folders.
inline std::string make_tar(const ArchiveFiles& files, char type = '0', const std::string& link = "") {
  std::string tar;
  for (const auto& [name, content] : files) {
    std::string header(512, '\0');
    header.replace(0, name.size(), name);
    const auto number = [&](std::size_t at, std::size_t size, unsigned long value) {
      char text[16];
      std::snprintf(text, sizeof text, "%0*lo", static_cast<int>(size) - 1, value);
      header.replace(at, std::strlen(text), text);
    };
    number(100, 8, 0644);
    number(124, 12, content.size());
    header[156] = name.ends_with('/') ? '5' : type;
    header.replace(157, link.size(), link);
    header.replace(257, 8,
                   std::string("ustar\0"
                               "00",
                               8));
    header.replace(148, 8, "        ");
    unsigned long sum = 0;
    for (unsigned char c : header) sum += c;
    number(148, 7, sum);
    header[154] = '\0';
    tar += header + content + std::string((512 - content.size() % 512) % 512, '\0');
  }
  return tar + std::string(1024, '\0');
}

inline std::string gzipped(const std::string& text) {
  z_stream stream{};
  deflateInit2(&stream, 6, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY);
  std::string out(text.size() + 1024, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

inline std::string make_tar_gz(const ArchiveFiles& files) {
  return gzipped(make_tar(files));
}

// A zip archive of entries that are stored as they are; `mode` is their mode on Unix.
inline std::string make_zip(const ArchiveFiles& files, unsigned mode = 0100644) {
  const auto number = [](std::uint64_t value, int bytes) {
    std::string text;
    for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i));
    return text;
  };
  std::string zip, directory;
  for (const auto& [name, content] : files) {
    const std::uint64_t sum = crc32_z(0, reinterpret_cast<const Bytef*>(content.data()), content.size());
    const std::string middle = number(0, 2) + number(0, 2) + number(0, 4) + number(sum, 4) +
                               number(content.size(), 4) + number(content.size(), 4) +
                               number(name.size(), 2) + number(0, 2);
    directory += number(0x02014b50, 4) + number(3 << 8 | 20, 2) + number(20, 2) + middle + number(0, 2) +
                 number(0, 2) + number(0, 2) + number(static_cast<std::uint64_t>(mode) << 16, 4) +
                 number(zip.size(), 4) + name;
    zip += number(0x04034b50, 4) + number(20, 2) + middle + name + content;
  }
  return zip + directory + number(0x06054b50, 4) + number(0, 4) + number(files.size(), 2) +
         number(files.size(), 2) + number(directory.size(), 4) + number(zip.size(), 4) + number(0, 2);
}

}  // namespace octet
