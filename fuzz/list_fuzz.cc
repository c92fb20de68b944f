#include <cstddef>
#include <cstdint>

#include "data/dataset.h"
#include "data/mask_dataset.h"
#include "survive.h"

// The list seems to be in /etc, where passwd and group are files that it can name on every machine.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  octet::survive([&] { octet::read_mask_list(text, "/etc/val_list.txt", {.root = "/etc"}); });
  return octet::survive([&] { octet::read_list(text, "/etc/val_list.txt"); });
}
