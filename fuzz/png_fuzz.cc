#include <zlib.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "data/image.h"
#include "data/mask.h"
#include "survive.h"

namespace {

std::uint32_t read_number(const std::uint8_t* at) {
  return std::uint32_t{at[0]} << 24 | std::uint32_t{at[1]} << 16 | std::uint32_t{at[2]} << 8 | at[3];
}

// Gives every chunk the right checksum; otherwise nearly every mutation ends at the first one that is wrong.
void repair_checksums(std::span<std::uint8_t> file) {
  constexpr std::size_t kSignature = 8, kFrame = 12;  // a chunk is length, type, data, checksum
  for (std::size_t at = kSignature; at + kFrame <= file.size();) {
    const std::size_t length = read_number(&file[at]);
    if (length > file.size() - at - kFrame) return;
    const auto checksum = static_cast<std::uint32_t>(crc32(0, &file[at + 4], static_cast<uInt>(length + 4)));
    for (std::size_t i = 0; i < 4; ++i)
      file[at + 8 + length + i] = static_cast<std::uint8_t>(checksum >> (24 - 8 * i));
    at += length + kFrame;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::vector<std::uint8_t> file(data, data + size);
  repair_checksums(file);
  octet::survive([&] { octet::decode_mask(std::as_bytes(std::span(file)), "fuzz.png"); });
  return octet::survive([&] { octet::decode_png(std::as_bytes(std::span(file)), "fuzz.png"); });
}
