#pragma once
#include "kernels/simd/float.h"
#include "kernels/simd/store.h"

namespace octet::simd::OCTET_SIMD {
namespace {

// An epilogue that can be done in registers, right behind the sums: a float output, and no activation
// function but a clamp. All others take a way over a buffer and store_tile().
struct Clamp {
  bool possible = false;  // to do this epilogue so
  bool clamps = false;
  float low = 0, high = 0;

  explicit Clamp(const FloatTarget& target) {
    Activation activation = target.epilogue->activation;
    clamps = activation == Activation::kRelu || activation == Activation::kRelu6;
    possible = target.floats && !target.integers && (clamps || activation == Activation::kNone);
    high = activation == Activation::kRelu6 ? target.epilogue->args[0] : __builtin_inff();
  }
};

inline Target at_offset(const FloatTarget& target, std::int64_t offset) {
  return {target.epilogue, target.residual ? target.residual + offset : nullptr,
          target.floats ? target.floats + offset : nullptr,
          target.integers ? target.integers + offset : nullptr, target.stride};
}

}  // namespace
}  // namespace octet::simd::OCTET_SIMD
