#pragma once
#include <cstdint>

#include "kernels/epilogue.h"

namespace octet::simd {

// Functions of one number x; a and b are their arguments.
enum class Unary : std::uint8_t {
  kTanh,
  kExp,
  kSqrt,
  kAbs,
  kGeluTanh,
  kErf,
  kGelu,
  kClip,            // to [a, b]
  kMultiply,        // x*a
  kMultiplyAdd,     // (x*a) + b
  kAddMultiply,     // (x + a) * b
  kMultiplyDivide,  // (x*a) / b
};

// Functions of each element for itself. x and y may be the same, but for quantize and dequantize.
struct UnaryRoutines {
  // y[i] = activation(x[i])
  void (*activate)(const Epilogue& epilogue, const float* x, float* y, std::int64_t count);
  void (*map)(Unary function, float a, float b, const float* x, float* y, std::int64_t count);
  void (*lookup)(const std::int8_t* table, const std::int8_t* x, std::int8_t* y, std::int64_t count);
  void (*quantize)(const Quantizer& quantizer, const float* x, std::int8_t* y, std::int64_t count);
  // y[i] = (x[i] - zero) * factor / bound
  void (*dequantize)(const std::int8_t* x, float zero, float factor, float bound, float* y,
                     std::int64_t count);
};

}  // namespace octet::simd
