#pragma once
#include <cstdint>

#include "kernels/epilogue.h"

namespace octet::simd {

// Everything that is not a convolution or a product.
struct LightRoutines {
  // y[i] = activation(x[i]); x and y may be the same.
  void (*activate)(const Epilogue& epilogue, const float* x, float* y, std::int64_t count);
};

}  // namespace octet::simd
