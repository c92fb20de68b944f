#pragma once
#include <filesystem>

#include "tensor/tensor.h"

namespace octet::onnx {

// A file with one TensorProto.
Tensor load_tensor(const std::filesystem::path& path);

}  // namespace octet::onnx
