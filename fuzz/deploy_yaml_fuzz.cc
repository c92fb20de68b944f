#include <cstddef>
#include <cstdint>
#include <string_view>

#include "data/deploy_yaml.h"
#include "octet/error.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    octet::read_deploy_yaml({reinterpret_cast<const char*>(data), size}, "deploy.yaml");
  } catch (const octet::Error&) {
  }
  return 0;
}
