#pragma once
#include "base/random.h"
#include "tensor/tensor.h"

namespace octet::models {

// Fresh weights.
Tensor filled(const Shape& shape, float value);
Tensor random_normal(const Shape& shape, double deviation, Random& random);
Tensor random_uniform(const Shape& shape, double bound, Random& random);  // in [-bound, bound)

}  // namespace octet::models
