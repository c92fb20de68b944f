#pragma once
#include "kernels/epilogue.h"
#include "kernels/simd/isa.h"

// The activation functions of graph/activation.h on vectors: the same operations in the same order, so the
// same bits. A new one is a struct here, at its place in `Activations`.
namespace octet::simd::OCTET_SIMD {
namespace {

inline Floats exp_of(Floats x) {
  Floats clamped = choose(less(x, all(-104.0f)), all(-104.0f), x);
  clamped = choose(greater(clamped, all(89.0f)), all(89.0f), clamped);
  Floats round = all(0x1.8p23f);
  Floats shifted = fma(clamped, all(0x1.715476p+0f), round);
  Floats n = sub(shifted, round);
  Floats r = fma(n, all(-0x1.62e43p-1f), clamped);
  r = fma(n, all(0x1.05c61p-29f), r);
  Floats p = all(1.0f / 5040);
  p = fma(p, r, all(1.0f / 720));
  p = fma(p, r, all(1.0f / 120));
  p = fma(p, r, all(1.0f / 24));
  p = fma(p, r, all(1.0f / 6));
  p = fma(p, r, all(0.5f));
  p = fma(p, r, all(1.0f));
  p = fma(p, r, all(1.0f));
  Ints exponent = sub(bits_of(shifted), bits_of(round));
  Ints half = shift_right<1>(exponent);
  Floats first = floats_of_bits(shift_left<23>(add(half, all(127))));
  Floats second = floats_of_bits(shift_left<23>(add(sub(exponent, half), all(127))));
  return choose(equal(x, x), mul(mul(p, first), second), x);
}

inline Floats clamp(Floats x, Floats low, Floats high) {
  return min(max(x, low), high);
}

struct Relu {
  explicit Relu(const float*) {}
  Floats operator()(Floats x) const { return max(x, zero); }
  Floats zero = zeros();
};

struct Relu6 {
  explicit Relu6(const float* args) : threshold(all(args[0])) {}
  Floats operator()(Floats x) const { return clamp(x, zero, threshold); }
  Floats zero = zeros(), threshold;
};

struct HardSwish {
  explicit HardSwish(const float* args)
      : threshold(all(args[0])), factor(div(all(1.0f), all(args[1]))), offset(all(args[2])) {}
  Floats operator()(Floats x) const { return mul(mul(x, clamp(add(x, offset), zero, threshold)), factor); }
  Floats zero = zeros(), threshold, factor, offset;
};

struct HardSigmoid {
  explicit HardSigmoid(const float* args) : slope(all(args[0])), offset(all(args[1])) {}
  Floats operator()(Floats x) const { return clamp(add(mul(slope, x), offset), zero, one); }
  Floats zero = zeros(), one = all(1.0f), slope, offset;
};

struct Swish {
  explicit Swish(const float* args) : minus_beta(sub(all(-0.0f), all(args[0]))) {}
  Floats operator()(Floats x) const { return div(x, add(one, exp_of(mul(minus_beta, x)))); }
  Floats one = all(1.0f), minus_beta;
};

struct Sigmoid {
  explicit Sigmoid(const float*) {}
  Floats operator()(Floats x) const { return div(one, add(one, exp_of(sub(all(-0.0f), x)))); }
  Floats one = all(1.0f);
};

struct LeakyRelu {
  explicit LeakyRelu(const float* args) : alpha(all(args[0])) {}
  Floats operator()(Floats x) const { return choose(greater(x, zero), x, mul(alpha, x)); }
  Floats zero = zeros(), alpha;
};

// In the order of activation_table().
template <class... Functions>
struct FunctionList {};
using Activations = FunctionList<Relu, Relu6, HardSwish, HardSigmoid, Swish, Sigmoid, LeakyRelu>;

template <class Use, class... Functions>
inline void with_row(const Epilogue& epilogue, const Use& use, FunctionList<Functions...>) {
  int row = 0;
  static_cast<void>(((row++ == epilogue.activation && (use(Functions(epilogue.args)), true)) || ...));
}

// Calls use(function), where function maps a vector as the epilogue's activation does.
template <class Use>
inline void with_activation(const Epilogue& epilogue, const Use& use) {
  if (epilogue.activation < 0) return use([](Floats x) { return x; });
  with_row(epilogue, use, Activations());
}

}  // namespace
}  // namespace octet::simd::OCTET_SIMD
