#pragma once
#include <filesystem>

#include "tensor/tensor.h"

namespace octet {

// A file with one tensor, as the onnx package keeps test data (input_0.pb).
Tensor load_tensor_file(const std::filesystem::path& path);

}  // namespace octet
