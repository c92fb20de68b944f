#include <cstddef>
#include <cstdint>
#include <span>

#include "data/idx.h"
#include "survive.h"

// Each input is read as both kinds of file.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const octet::Bytes bytes = std::as_bytes(std::span(data, size));
  octet::survive([&] {
    const octet::IdxPictures pictures = octet::read_idx_pictures(bytes, "fuzz");
    pictures.picture(pictures.count - 1);
  });
  return octet::survive([&] { octet::read_idx_labels(bytes, "fuzz"); });
}
