// What the tests against real Paddle and NumPy drive: reads a file with octet and writes it again, or lists
// it.
#include <fmt/format.h>

#include <cstdio>
#include <string>

#include "formats/format.h"
#include "tensor/npy.h"

namespace {

void list(const octet::StateDict& state) {
  for (const auto& item : state.items) {
    const octet::Tensor* tensor = state.find(item.name);
    fmt::print("{} {}\n", item.name,
               tensor
                   ? fmt::format("{} {}", octet::name_of(tensor->dtype()), octet::to_string(tensor->shape()))
                   : std::string(item.value.type_name()));
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::string command = argc > 2 ? argv[1] : "";
  try {
    if (command == "list" && argc == 3) {
      list(octet::load_state_dict(argv[2]));
    } else if (command == "copy" && argc == 4) {
      octet::save_state_dict(argv[3], octet::load_state_dict(argv[2]));
    } else if (command == "copy-npy" && argc == 4) {
      octet::save_npy(argv[3], octet::load_npy(argv[2]));
    } else {
      fmt::print(stderr, "usage: {} list IN | copy IN OUT | copy-npy IN OUT\n", argv[0]);
      return 2;
    }
  } catch (const octet::Error& error) {
    fmt::print(stderr, "octet: error: {}\n", error.what());
    return error.kind() == octet::Error::Kind::kUser ? 2 : 1;
  }
  return 0;
}
