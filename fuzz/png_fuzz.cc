#include <cstddef>
#include <cstdint>
#include <span>

#include "data/image.h"
#include "octet/error.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    octet::decode_png(std::as_bytes(std::span(data, size)), "fuzz.png");
  } catch (const octet::Error&) {
  }
  return 0;
}
