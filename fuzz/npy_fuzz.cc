#include <cstddef>
#include <cstdint>
#include <span>

#include "survive.h"
#include "tensor/npy.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return octet::survive([&] {
    octet::Tensor tensor = octet::read_npy(std::as_bytes(std::span(data, size)), nullptr, "fuzz.npy");
    if (tensor.dtype() != octet::DType::kFloat64)
      tensor.cast(octet::DType::kFloat64);  // touches every element
  });
}
