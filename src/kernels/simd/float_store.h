#pragma once
#include "kernels/simd/float.h"
#include "kernels/simd/store.h"

namespace octet::simd::OCTET_SIMD {
namespace {

// An epilogue that can be done in registers, right behind the sums: a float output, and the activation
// functions that most convolutions have. All others take a way over a buffer and store_tile().
struct Simple {
  enum Kind { kNone, kClamp, kHardSwish };

  bool possible = false;  // to do this epilogue so
  Kind kind = kNone;
  float low = 0, high = 0;           // of the clamp
  float offset = 0, multiplier = 0;  // of hard_swish

  Simple() = default;  // stores the sums
  explicit Simple(const FloatTarget& target) {
    const Epilogue& e = *target.epilogue;
    possible = target.floats && !target.integers;
    if (e.form == Epilogue::Form::kOther) possible = false;
    if (e.form == Epilogue::Form::kClamp) {
      kind = kClamp;
      high = e.high;
    } else if (e.form == Epilogue::Form::kHardSwish) {
      kind = kHardSwish;
      high = e.args[0];
      multiplier = 1.0f / e.args[1];
      offset = e.args[2];
    }
  }

  // Calls each(function), where function maps a vector as the activation does, unless that is nothing.
  template <class Each>
  [[gnu::always_inline]] void apply(const Each& each) const {
    if (kind == kNone) return;
    Floats least = all(low), most = all(high);
    if (kind == kClamp) return each([=](Floats x) { return clamp(x, least, most); });
    Floats plus = all(offset), times = all(multiplier);
    each([=](Floats x) { return mul(mul(x, clamp(add(x, plus), least, most)), times); });
  }
};

inline Target at_offset(const FloatTarget& target, std::int64_t offset) {
  return {target.epilogue, target.residual ? target.residual + offset : nullptr,
          target.floats ? target.floats + offset : nullptr,
          target.integers ? target.integers + offset : nullptr, target.stride};
}

}  // namespace
}  // namespace octet::simd::OCTET_SIMD
