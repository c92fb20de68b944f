#pragma once
#include <string>
#include <string_view>

#include "tensor/tensor.h"

namespace octet::paddle {

// Paddle's VarType.TensorDesc, a message.
struct TensorDesc {
  int data_type = -1;
  Shape shape;
};

TensorDesc parse_tensor_desc(std::string_view bytes);  // protozero's exceptions are the caller's
std::string write_tensor_desc(const TensorDesc& desc);

}  // namespace octet::paddle
