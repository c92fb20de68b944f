#pragma once
#include "tensor/tensor.h"
#include "train/torch.h"

// Between octet's tensors and libtorch's.
namespace octet::train {

at::ScalarType scalar_type(DType dtype);
DType dtype_of(at::ScalarType type);

at::Tensor to_torch(const Tensor& tensor);  // a copy
at::Tensor view_in_torch(
    const Tensor& tensor);                    // the same memory, which it keeps alive; not to be written to
Tensor from_torch(const at::Tensor& tensor);  // a copy, in row-major order, from any device

}  // namespace octet::train
