#pragma once
#include <cmath>
#include <cstdint>

// The rounding of quantization, in the order of float operations of Paddle's CPU kernels
// (paddle/phi/kernels/funcs/fake_quantize_functor.h), so that the integers are the same.
namespace octet {

struct Quantization;  // graph/quantization.h; not included, for this is compiled for each instruction set

// Half away from zero, like std::round, but of instructions that vectorise: 0.49999997 is the largest float
// below a half, so nothing below a half is carried over.
inline float round_away(float x) {
  return std::trunc(x + std::copysign(0x1.fffffep-2f, x));
}

inline float inverse_of(float scale) {
  return scale <= 1e-30f ? 1.0f / (scale + 1e-6f) : 1.0f / scale;
}

// Numbers to integers that are held as floats.
struct Quantizer {
  float multiplier = 0;     // Q * inv(abs_max), rounded once
  float clip = 0;           // away: x is clipped to [-clip, clip] first
  float step = 0;           // by_step: x is divided by it
  float zero_point = 0;     // by_step: added
  float low = 0, high = 0;  // the range of the integers
  bool away = false, by_step = false;

  Quantizer() = default;
  explicit Quantizer(const Quantization& how, std::size_t channel = 0);

  float operator()(float x) const {
    if (by_step) return bound((away ? round_away(x / step) : std::nearbyint(x / step)) + zero_point);
    if (!away) return bound(std::nearbyint(multiplier * x));
    float clipped = x < -clip ? -clip : x > clip ? clip : x;
    return round_away(multiplier * clipped);
  }

  // The same as int8; NaN gives the lowest integer, as the CPU's max does.
  std::int8_t to_int8(float x) const {
    float q = (*this)(x);
    q = q > low ? q : low;
    return static_cast<std::int8_t>(q < high ? q : high);
  }

 private:
  float bound(float q) const {
    q = q > high ? high : q;
    return q < low ? low : q;
  }
};

// y[i] = quantizer(x[i]).
void quantize_run(const float* x, std::int64_t count, const Quantizer& quantizer, float* y);
void quantize_run(const float* x, std::int64_t count, const Quantizer& quantizer, std::int8_t* y);

}  // namespace octet
