#pragma once
#include <bit>
#include <cstdint>
#include <cstring>

#include "train/torch.h"

// bfloat16 in loops that compute in float. A function that is compiled for several CPUs (target_clones) has
// whole vectors of these inlined into it.
namespace octet::train {

using BFloat16 = c10::BFloat16;

inline float widened(float x) {
  return x;
}
inline float widened(BFloat16 x) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(x.x) << 16);
}

// The nearest, half to even. NaN stays one: its low bits alone could carry over into infinity.
template <class T>
inline T narrowed(float x) {
  if constexpr (std::is_same_v<T, float>) {
    return x;
  } else {
    const auto bits = std::bit_cast<std::uint32_t>(x);
    const std::uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
    return BFloat16(static_cast<std::uint16_t>(x != x ? 0x7fc0u : rounded), BFloat16::from_bits());
  }
}

constexpr std::int64_t kLanes = 16;
using Floats [[gnu::vector_size(64)]] = float;
using Words [[gnu::vector_size(64)]] = std::uint32_t;
using Halves [[gnu::vector_size(32)]] = std::uint16_t;

// Vectors are handed over by reference: how they are by value depends on the CPU that is compiled for.
[[gnu::always_inline]] inline void load(const BFloat16* from, Floats& to) {
  Halves halves;
  std::memcpy(&halves, from, sizeof halves);
  const Words words = __builtin_convertvector(halves, Words) << 16;
  std::memcpy(&to, &words, sizeof to);
}
[[gnu::always_inline]] inline void load(const float* from, Floats& to) {
  std::memcpy(&to, from, sizeof to);
}

[[gnu::always_inline]] inline void store(const Floats& from, BFloat16* to) {
  Words words;
  std::memcpy(&words, &from, sizeof words);
  const Words rounded = (words + 0x7fff + ((words >> 16) & 1)) >> 16;
  const Words nothing = Words{} + 0x7fc0;
  const Halves halves = __builtin_convertvector(from == from ? rounded : nothing, Halves);
  std::memcpy(to, &halves, sizeof halves);
}
[[gnu::always_inline]] inline void store(const Floats& from, float* to) {
  std::memcpy(to, &from, sizeof from);
}

}  // namespace octet::train
