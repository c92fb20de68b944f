#pragma once
#include "graph/activation.h"

// Functions of one number that are ops but no epilogue has, defined to the bit like those of
// graph/activation.h.
namespace octet::ref {

// 1 - 2/(e^2x + 1); around 0, where that cancels, the first terms of Taylor's series.
inline float tanh_of(float x) {
  float magnitude = std::fabs(x);
  if (magnitude < 0.25f) {
    float square = x * x;
    float p = 62.0f / 2835;
    p = std::fma(p, square, -17.0f / 315);
    p = std::fma(p, square, 2.0f / 15);
    p = std::fma(p, square, -1.0f / 3);
    return std::fma(p * square, x, x);
  }
  return std::copysign(1.0f - 2.0f / (exp_of(2.0f * magnitude) + 1.0f), x);
}

// The error function by Taylor's series in double, which leaves an error of 1e-9 where the series is used.
inline double erf_of(double x) {
  constexpr double kTwoOverSqrtPi = 1.1283791670955126;
  if (x >= 4.5) return 1.0;  // within 2e-10
  if (x <= -4.5) return -1.0;
  double power = x, sum = x;
  for (int n = 1; n < 90; ++n) {
    power *= -x * x / n;
    sum += power / (2 * n + 1);
  }
  return kTwoOverSqrtPi * sum;
}

inline float gelu_of(float x) {
  constexpr double kSqrtHalf = 0.70710678118654752;
  return static_cast<float>(0.5 * x * (1.0 + erf_of(x * kSqrtHalf)));
}

inline float gelu_tanh_of(float x) {
  constexpr float kSqrtTwoOverPi = 0.7978845608f;
  return 0.5f * x * (1.0f + tanh_of(kSqrtTwoOverPi * (x + 0.044715f * x * x * x)));
}

}  // namespace octet::ref
