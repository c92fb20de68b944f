#pragma once
#include "train/torch.h"

// Mixed precision: which operations run in 16 bits, and how.
namespace octet::train {

enum class Amp {
  kOff,  // everything in float32
  kO1,   // convolutions and products in 16 bits
  kO2,   // everything but what needs the range of floats (OpSpec::precision); the parameters themselves stay
         // float32
};

struct Precision {
  Amp level = Amp::kOff;
  at::ScalarType dtype = at::kBFloat16;
  // Where the hardware has no fast 16-bit path: operands and results are rounded to 16 bits and the
  // arithmetic is float32's, which gives the numbers of the real thing up to the order of summation.
  bool rounded = false;
};

// What a precision means for an op.
enum class Cast { kKeep, kLow, kFloat };
Cast cast_for(std::string_view op, Amp level);

// To 16 bits, or to the nearest number that 16 bits can hold. So is the gradient on its way back.
at::Tensor lower(const at::Tensor& x, const Precision& precision);

// `lower` where 16 bits are simulated; `x` itself elsewhere, for it is in 16 bits already.
at::Tensor round_result(const at::Tensor& x, const Precision& precision);

// The nearest number of `type` (bfloat16 or float16) to each of the floats; half to even.
at::Tensor rounded_to(const at::Tensor& x, at::ScalarType type);

}  // namespace octet::train
