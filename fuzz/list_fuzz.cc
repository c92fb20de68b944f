#include <cstddef>
#include <cstdint>

#include "data/dataset.h"
#include "survive.h"

// The list seems to be in /etc, where passwd and group are files that it can name on every machine.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return octet::survive([&] {
    octet::read_list({reinterpret_cast<const char*>(data), size}, "/etc/val_list.txt");
  });
}
