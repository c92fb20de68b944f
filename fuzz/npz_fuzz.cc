#include <cstddef>
#include <cstdint>
#include <span>

#include "data/npz.h"
#include "survive.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return octet::survive([&] { octet::read_npz(std::as_bytes(std::span(data, size)), "fuzz.npz"); });
}
