#include <cstddef>
#include <cstdint>
#include <span>

#include "data/image.h"
#include "survive.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return octet::survive([&] { octet::decode_webp(std::as_bytes(std::span(data, size)), "fuzz.webp"); });
}
