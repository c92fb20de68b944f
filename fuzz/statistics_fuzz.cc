#include <cstddef>
#include <cstdint>

#include "quant/calibrate.h"
#include "survive.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return octet::survive([&] {
    octet::quant::KeptStatistics::read({reinterpret_cast<const char*>(data), size}, "statistics");
  });
}
