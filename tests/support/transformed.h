#pragma once
#include "data/transform.h"
#include "tensor/tensor.h"

namespace octet {

// The picture as the transforms make it: float32 [1, 3, height, width].
inline Tensor transformed(const Image& image, const Transforms& transforms, std::uint64_t seed = 0) {
  const PreparedTransforms prepared(transforms);
  Random random({seed});
  Example example{.image = image};
  prepared.apply_to_pixels(example, random);
  Tensor tensor(DType::kFloat32, {1, prepared.channels(), example.height(), example.width()});
  prepared.apply_to_planes(example, random, tensor.mutable_data<float>());
  return tensor;
}

// As far as Normalize.
inline Example transformed_pixels(Example example, const Transforms& transforms, std::uint64_t seed = 0) {
  Random random({seed});
  PreparedTransforms(transforms).apply_to_pixels(example, random);
  return example;
}

}  // namespace octet
