#pragma once
#include <string>

#include "octet/predictor.h"
#include "tensor/tensor.h"

namespace octet::cli {

// Between tensors and the handles of a predictor, for every dtype.
void feed(TensorHandle& input, const Tensor& tensor);
Tensor fetch(const TensorHandle& output);

std::string describe(DType dtype, const Shape& shape);  // "float32 ?x3x224x224"
std::string format_bytes(std::uint64_t bytes);          // "812 B", "4.2 MB"

}  // namespace octet::cli
