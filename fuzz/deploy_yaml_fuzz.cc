#include <cstddef>
#include <cstdint>

#include "data/deploy_yaml.h"
#include "survive.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return octet::survive([&] {
    octet::read_deploy_yaml({reinterpret_cast<const char*>(data), size}, "deploy.yaml");
  });
}
