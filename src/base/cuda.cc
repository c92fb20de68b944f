#include "base/cuda.h"

#include <cstdlib>
#include <filesystem>
#include <string_view>

namespace octet {

bool has_cuda_device() {
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  if (visible && (*visible == '\0' || std::string_view(visible) == "-1")) return false;
  std::error_code error;
  return std::filesystem::exists("/dev/nvidia0", error);
}

}  // namespace octet
