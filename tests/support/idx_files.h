#pragma once
#include <zlib.h>

#include <cstdint>
#include <initializer_list>
#include <stdexcept>
#include <string>

namespace octet {

// An idx file of bytes with these dimensions.
inline std::string encode_idx(std::initializer_list<std::uint32_t> dimensions, const std::string& values) {
  std::string file = {0, 0, 8, static_cast<char>(dimensions.size())};
  for (std::uint32_t dimension : dimensions)
    for (int shift : {24, 16, 8, 0}) file += static_cast<char>(dimension >> shift);
  return file + values;
}

// `count` pictures of 5x4 that differ in every pixel.
inline std::string idx_pictures(std::uint32_t count) {
  std::string values;
  for (std::uint32_t i = 0; i < count * 20; ++i) values += static_cast<char>(i * 7 + i / 20);
  return encode_idx({count, 4, 5}, values);
}

// The labels 0, 1, ...
inline std::string idx_labels(std::uint32_t count) {
  std::string values;
  for (std::uint32_t i = 0; i < count; ++i) values += static_cast<char>(i);
  return encode_idx({count}, values);
}

inline std::string gzip(const std::string& content) {
  z_stream stream{};
  if (deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::runtime_error("no memory for zlib");
  std::string packed(deflateBound(&stream, content.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

}  // namespace octet
