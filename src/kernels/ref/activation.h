#pragma once
#include <limits>

#include "graph/activation.h"
#include "kernels/erf.h"

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

template <std::size_t kCount>
float polynomial(const float (&coefficients)[kCount], float at) {
  float p = coefficients[kCount - 1];
  for (std::size_t i = kCount - 1; i-- > 0;) p = std::fma(p, at, coefficients[i]);
  return p;
}

// The error function within 7e-8.
inline float erf_of(float x) {
  const float magnitude = std::fabs(x);
  if (magnitude < 1.0f) return std::fma(polynomial(kErfNear, x * x), x, x);
  return std::copysign(1.0f - exp_of(polynomial(kErfFar, magnitude)), x);
}

// The natural logarithm in double: that of the exponent, and of the fraction by the series of artanh, which
// leaves an error below 1e-15.
inline double log_of(double x) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (!(x > 0)) return x == 0 ? -kInfinity : std::numeric_limits<double>::quiet_NaN();
  if (x == kInfinity) return x;
  constexpr double kLn2 = 0.69314718055994531, kSqrtHalf = 0.70710678118654752;
  int exponent = 0;
  double fraction = std::frexp(x, &exponent);
  if (fraction < kSqrtHalf) fraction *= 2, --exponent;
  double s = (fraction - 1) / (fraction + 1), square = s * s, sum = 0;
  for (int n = 21; n > 0; n -= 2) sum = sum * square + 1.0 / n;
  return exponent * kLn2 + 2 * s * sum;
}

// log(1 + x) for x from 0 to 1: where 1 + x would lose x's digits, the first terms of the series.
inline double log1p_of(double x) {
  return x < 1e-5 ? x - x * x / 2 + x * x * x / 3 : log_of(1 + x);
}

inline float softplus_of(float x) {
  float above = x > 0.0f ? x : 0.0f;
  return static_cast<float>(above + log1p_of(exp_of(-std::fabs(x))));
}

inline float mish_of(float x) {
  return x * tanh_of(softplus_of(x));
}

inline float elu_of(float x, float alpha) {
  // Around 0 e^x - 1 cancels: the first terms of its series there.
  if (x > 0.0f) return x;
  if (x > -0.125f) {
    double r = x;
    return static_cast<float>(alpha *
                              (r + r * r / 2 + r * r * r / 6 + r * r * r * r / 24 + r * r * r * r * r / 120));
  }
  return alpha * (exp_of(x) - 1.0f);
}

// x/2 * (1 + erf(x / sqrt(2))); far below 0 the sum would cancel.
inline float gelu_of(float x) {
  const float root = x * 0.70710678118654752f, magnitude = std::fabs(root);
  const float rest = exp_of(polynomial(kErfFar, magnitude));
  const float sum = magnitude < 1.0f ? 1.0f + std::fma(polynomial(kErfNear, root * root), root, root)
                    : root > 0.0f    ? 2.0f - rest
                                     : rest;
  return 0.5f * x * sum;
}

inline float gelu_tanh_of(float x) {
  constexpr float kSqrtTwoOverPi = 0.7978845608f;
  return 0.5f * x * (1.0f + tanh_of(kSqrtTwoOverPi * (x + 0.044715f * x * x * x)));
}

}  // namespace octet::ref
