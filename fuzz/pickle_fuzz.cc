#include <cstddef>
#include <cstdint>
#include <span>

#include "formats/paddle/state_dict.h"
#include "survive.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return octet::survive([&] {
    auto bytes = std::as_bytes(std::span(data, size));
    octet::StateDict state = octet::paddle::read_state_dict(bytes, nullptr, "fuzz.pdparams");
    for (const auto& item : state.items)
      if (const octet::Tensor* tensor = state.find(item.name)) tensor->clone();  // touches every byte
  });
}
