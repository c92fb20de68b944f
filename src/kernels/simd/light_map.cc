#include "kernels/simd/light_routines.h"
#include "kernels/simd/store.h"

namespace octet::simd::OCTET_SIMD {
namespace {

inline Floats magnitude_of(Floats x) {
  return copy_sign(x, zeros());
}

inline Floats square_root(Floats x) {
#if defined(__AVX512F__)
  return _mm512_sqrt_ps(x);
#elif defined(__AVX2__)
  return _mm256_sqrt_ps(x);
#else
  return vsqrtq_f32(x);
#endif
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

}  // namespace

void activate(const Epilogue& epilogue, const float* x, float* y, std::int64_t count) {
  with_activation(epilogue, [&](auto function) { map_run(x, y, count, function); });
}

void map(Map function, float a, float b, const float* x, float* y, std::int64_t count) {
  Floats va = all(a), vb = all(b);
  switch (function) {
    case Map::kTanh:
      return map_run(x, y, count, tanh_of);
    case Map::kExp:
      return map_run(x, y, count, exp_of);
    case Map::kSqrt:
      return map_run(x, y, count, square_root);
    case Map::kAbs:
      return map_run(x, y, count, magnitude_of);
    case Map::kGeluTanh:
      return map_run(x, y, count, gelu_tanh_of);
    case Map::kClip:
      return map_run(x, y, count, [=](Floats v) { return clamp(v, va, vb); });
    case Map::kMultiply:
      return map_run(x, y, count, [=](Floats v) { return mul(v, va); });
    case Map::kMultiplyAdd:
      return map_run(x, y, count, [=](Floats v) { return add(mul(v, va), vb); });
    case Map::kAddMultiply:
      return map_run(x, y, count, [=](Floats v) { return mul(add(v, va), vb); });
    case Map::kMultiplyDivide:
      return map_run(x, y, count, [=](Floats v) { return div(mul(v, va), vb); });
  }
}

void lookup(const std::int8_t* table, const std::int8_t* x, std::int8_t* y, std::int64_t count) {
  std::int64_t i = 0;
#if defined(__AVX2__)
  // A shuffle looks 16 numbers up by the low bits of an index, and gives 0 where its highest bit is set. With
  // s = x - 16k (which stays negative once it is), steps k = 0, 1, ... of x >= 0 add up, by exclusive or, to
  // what the last step that still took part wants. The same for x < 0, of which x ^ 128 is not negative.
  __m256i steps[16];
  const __m128i* rows = reinterpret_cast<const __m128i*>(table);
  for (int k = 0; k < 16; ++k) {
    __m128i row = _mm_loadu_si128(rows + k);
    if (k % 8 != 0) row = _mm_xor_si128(row, _mm_loadu_si128(rows + k - 1));
    steps[k] = _mm256_broadcastsi128_si256(row);
  }
  __m256i sixteen = _mm256_set1_epi8(16), top = _mm256_set1_epi8(-128);
  for (; i + 32 <= count; i += 32) {
    __m256i high = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x + i));
    __m256i low = _mm256_xor_si256(high, top);  // table[0] is for -128
    __m256i result = _mm256_setzero_si256();
    for (int k = 0; k < 8; ++k) {
      result = _mm256_xor_si256(result, _mm256_shuffle_epi8(steps[k], low));
      result = _mm256_xor_si256(result, _mm256_shuffle_epi8(steps[k + 8], high));
      low = _mm256_subs_epi8(low, sixteen);
      high = _mm256_subs_epi8(high, sixteen);
    }
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(y + i), result);
  }
#endif
  for (; i < count; ++i) y[i] = table[x[i] + 128];
}

void quantize(const Quantizer& quantizer, const float* x, std::int8_t* y, std::int64_t count) {
  with_quantizer(quantizer, [&](auto function) {
    std::int64_t i = 0;
#if defined(__AVX2__) && !defined(__AVX512F__)
    // Four vectors make a vector of int8.
    __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    for (; i + 32 <= count; i += 32) {
      __m256i a = _mm256_cvttps_epi32(function(load(x + i)));
      __m256i b = _mm256_cvttps_epi32(function(load(x + i + 8)));
      __m256i c = _mm256_cvttps_epi32(function(load(x + i + 16)));
      __m256i d = _mm256_cvttps_epi32(function(load(x + i + 24)));
      __m256i bytes = _mm256_packs_epi16(_mm256_packs_epi32(a, b), _mm256_packs_epi32(c, d));
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(y + i), _mm256_permutevar8x32_epi32(bytes, order));
    }
#endif
    for (; i + kLanes <= count; i += kLanes) store_int8(y + i, function(load(x + i)));
    if (i < count) store_int8_first(y + i, function(load_first(x + i, count - i)), count - i);
  });
}

void dequantize(const std::int8_t* x, float abs_max, float bound, float* y, std::int64_t count) {
  Floats s = all(abs_max), q = all(bound);
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) store(y + i, div(mul(to_floats(load_int8(x + i)), s), q));
  if (i < count) store_first(y + i, div(mul(to_floats(load_int8_first(x + i, count - i)), s), q), count - i);
}

}  // namespace octet::simd::OCTET_SIMD
