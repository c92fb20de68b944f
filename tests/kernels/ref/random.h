#pragma once
#include <random>

#include "tensor/tensor.h"

namespace octet::testing {

inline Tensor random_floats(Shape shape, std::uint32_t seed, float low = -1, float high = 1) {
  std::mt19937 engine(seed);
  Tensor tensor(DType::kFloat32, std::move(shape));
  // Not std::uniform_real_distribution, whose numbers depend on the library.
  for (float& value : tensor.mutable_data<float>())
    value = low + (high - low) * static_cast<float>(engine() >> 8) * 0x1p-24f;
  return tensor;
}

inline Tensor random_int8s(Shape shape, std::uint32_t seed) {
  std::mt19937 engine(seed);
  Tensor tensor(DType::kInt8, std::move(shape));
  for (std::int8_t& value : tensor.mutable_data<std::int8_t>())
    value = static_cast<std::int8_t>(engine() >> 24);
  return tensor;
}

}  // namespace octet::testing
