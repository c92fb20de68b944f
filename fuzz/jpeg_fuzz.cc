#include <cstddef>
#include <cstdint>
#include <span>

#include "data/image.h"
#include "survive.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  octet::survive([&] {
    octet::decode_jpeg(bytes, "fuzz.jpg", [](int width, int height) {
      return octet::Box{width / 8, height / 8, width - width / 4, height - height / 4};
    });
  });
  return octet::survive([&] { octet::decode_jpeg(bytes, "fuzz.jpg"); });
}
