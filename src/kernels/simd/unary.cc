#include "kernels/simd/unary.h"

#include "kernels/erf.h"
#include "kernels/simd/store.h"
#include "kernels/simd/table.h"

namespace octet::simd::OCTET_SIMD {
namespace {

inline Floats magnitude_of(Floats x) {
  return copy_sign(x, zeros());
}

// As tanh_of in kernels/ref/activation.h.
inline Floats tanh_of(Floats x) {
  Floats magnitude = magnitude_of(x);
  Floats square = mul(x, x);
  Floats p = all(62.0f / 2835);
  p = fma(p, square, all(-17.0f / 315));
  p = fma(p, square, all(2.0f / 15));
  p = fma(p, square, all(-1.0f / 3));
  Floats series = fma(mul(p, square), x, x);
  Floats one = all(1.0f);
  Floats far = sub(one, div(all(2.0f), add(exp_of(mul(all(2.0f), magnitude)), one)));
  return choose(less(magnitude, all(0.25f)), series, copy_sign(far, x));
}

inline Floats gelu_tanh_of(Floats x) {
  Floats cube = mul(mul(mul(all(0.044715f), x), x), x);
  Floats inner = mul(all(0.7978845608f), add(x, cube));
  return mul(mul(all(0.5f), x), add(all(1.0f), tanh_of(inner)));
}

// As in kernels/ref/activation.h.
template <int kCount>
inline Floats polynomial(const float (&coefficients)[kCount], Floats at) {
  Floats p = all(coefficients[kCount - 1]);
  for (int i = kCount - 2; i >= 0; --i) p = fma(p, at, all(coefficients[i]));
  return p;
}

inline Floats erf_of(Floats x) {
  Floats magnitude = magnitude_of(x), one = all(1.0f);
  Floats near = fma(polynomial(kErfNear, mul(x, x)), x, x);
  Floats far = sub(one, exp_of(polynomial(kErfFar, magnitude)));
  return choose(less(magnitude, one), near, copy_sign(far, x));
}

inline Floats gelu_of(Floats x) {
  Floats root = mul(x, all(0.70710678118654752f)), magnitude = magnitude_of(root), one = all(1.0f);
  Floats rest = exp_of(polynomial(kErfFar, magnitude));
  Floats near = add(one, fma(polynomial(kErfNear, mul(root, root)), root, root));
  Floats far = choose(greater(root, zeros()), sub(all(2.0f), rest), rest);
  return mul(mul(all(0.5f), x), choose(less(magnitude, one), near, far));
}

template <class Function>
inline void map_run(const float* x, float* y, std::int64_t count, const Function& function) {
  std::int64_t i = 0;
  for (; i + 2 * kLanes <= count; i += 2 * kLanes) {
    Floats first = function(load(x + i)), second = function(load(x + i + kLanes));
    store(y + i, first);
    store(y + i + kLanes, second);
  }
  for (; i + kLanes <= count; i += kLanes) store(y + i, function(load(x + i)));
  if (i < count) store_first(y + i, function(load_first(x + i, count - i)), count - i);
}

void activate(const Epilogue& epilogue, const float* x, float* y, std::int64_t count) {
  with_activation(epilogue, [&](auto function) { map_run(x, y, count, function); });
}

void map(Unary function, float a, float b, const float* x, float* y, std::int64_t count) {
  Floats va = all(a), vb = all(b);
  switch (function) {
    case Unary::kTanh:
      return map_run(x, y, count, tanh_of);
    case Unary::kExp:
      return map_run(x, y, count, exp_of);
    case Unary::kSqrt:
      return map_run(x, y, count, square_root);
    case Unary::kAbs:
      return map_run(x, y, count, magnitude_of);
    case Unary::kGeluTanh:
      return map_run(x, y, count, gelu_tanh_of);
    case Unary::kErf:
      return map_run(x, y, count, erf_of);
    case Unary::kGelu:
      return map_run(x, y, count, gelu_of);
    case Unary::kClip:
      return map_run(x, y, count, [=](Floats v) { return clamp(v, va, vb); });
    case Unary::kMultiply:
      return map_run(x, y, count, [=](Floats v) { return mul(v, va); });
    case Unary::kMultiplyAdd:
      return map_run(x, y, count, [=](Floats v) { return add(mul(v, va), vb); });
    case Unary::kAddMultiply:
      return map_run(x, y, count, [=](Floats v) { return mul(add(v, va), vb); });
    case Unary::kMultiplyDivide:
      return map_run(x, y, count, [=](Floats v) { return div(mul(v, va), vb); });
  }
}

void quantize(const Quantizer& quantizer, const float* x, std::int8_t* y, std::int64_t count) {
  with_quantizer(quantizer, [&](auto function) {
    std::int64_t i = 0;
    for (; i + 4 * kLanes <= count; i += 4 * kLanes) {
      Floats v[4];
      for (int k = 0; k < 4; ++k) v[k] = function(load(x + i + k * kLanes));
      store_int8(y + i, v);
    }
    for (; i + kLanes <= count; i += kLanes) store_int8(y + i, function(load(x + i)));
    if (i < count) store_int8_first(y + i, function(load_first(x + i, count - i)), count - i);
  });
}

void dequantize(const std::int8_t* x, float zero, float factor, float bound, float* y, std::int64_t count) {
  Floats z = all(zero), s = all(factor), q = all(bound);
  auto value = [=](Ints integers) { return div(mul(sub(to_floats(integers), z), s), q); };
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) store(y + i, value(load_int8(x + i)));
  if (i < count) store_first(y + i, value(load_int8_first(x + i, count - i)), count - i);
}

}  // namespace

constinit const UnaryRoutines kUnary = {
    .activate = activate,
    .map = map,
    .lookup = lookup,
    .quantize = quantize,
    .dequantize = dequantize,
};

}  // namespace octet::simd::OCTET_SIMD
