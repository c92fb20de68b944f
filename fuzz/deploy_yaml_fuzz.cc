#include <cstddef>
#include <cstdint>

#include "data/deploy_yaml.h"
#include "data/transform_yaml.h"
#include "survive.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  octet::survive([&] { octet::read_class_names(text, "deploy.yaml"); });
  octet::survive([&] { octet::read_transforms(std::string(text), "list", /*random_allowed=*/true); });
  return octet::survive([&] { octet::read_deploy_yaml(text, "deploy.yaml"); });
}
