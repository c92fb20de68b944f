#include "models/init.h"

#include <algorithm>

namespace octet::models {

Tensor filled(const Shape& shape, float value) {
  Tensor tensor(DType::kFloat32, shape);
  std::ranges::fill(tensor.mutable_data<float>(), value);
  return tensor;
}

Tensor random_normal(const Shape& shape, double deviation, Random& random) {
  Tensor tensor(DType::kFloat32, shape);
  for (float& x : tensor.mutable_data<float>()) x = static_cast<float>(deviation * random.normal());
  return tensor;
}

Tensor random_uniform(const Shape& shape, double bound, Random& random) {
  Tensor tensor(DType::kFloat32, shape);
  for (float& x : tensor.mutable_data<float>()) x = static_cast<float>(random.uniform(-bound, bound));
  return tensor;
}

}  // namespace octet::models
