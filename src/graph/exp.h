#pragma once
#include <bit>
#include <cmath>
#include <cstdint>

// An exponential that is defined to the bit: only float operations that IEEE 754 rounds in one way, in one
// order, so that every library, ISA and vector width gives the same result (libm's differ from version to
// version). An activation function between two integer layers has to be like that, or the integers would
// depend on the machine.
namespace octet {

// e^x within 2 units in the last place, with subnormal results, 0 and infinity where they belong; NaN gives
// NaN. x = n*ln2 + r with |r| <= ln2/2; e^r is Taylor's polynomial of degree 7, whose remainder is below
// 6e-9; times 2^n.
inline float exp_of(float x) {
  constexpr float kLog2e = 0x1.715476p+0f;
  constexpr float kLn2High = 0x1.62e43p-1f, kLn2Low = -0x1.05c61p-29f;
  constexpr float kRound = 0x1.8p23f;  // adding it leaves the nearest integer in the low bits

  float clamped = x < -104.0f ? -104.0f : x;    // e^-104 rounds to 0
  clamped = clamped > 89.0f ? 89.0f : clamped;  // e^89 to infinity
  float shifted = std::fma(clamped, kLog2e, kRound);
  float n = shifted - kRound;
  float r = std::fma(n, -kLn2High, clamped);
  r = std::fma(n, -kLn2Low, r);

  float p = 1.0f / 5040;
  p = std::fma(p, r, 1.0f / 720);
  p = std::fma(p, r, 1.0f / 120);
  p = std::fma(p, r, 1.0f / 24);
  p = std::fma(p, r, 1.0f / 6);
  p = std::fma(p, r, 0.5f);
  p = std::fma(p, r, 1.0f);
  p = std::fma(p, r, 1.0f);

  // 2^n in two factors, because n goes from -150 to 128 and a float's exponent does not.
  std::uint32_t exponent = std::bit_cast<std::uint32_t>(shifted) - std::bit_cast<std::uint32_t>(kRound);
  std::uint32_t half = static_cast<std::uint32_t>(static_cast<std::int32_t>(exponent) >> 1);
  float first = std::bit_cast<float>((half + 127) << 23);
  float second = std::bit_cast<float>((exponent - half + 127) << 23);
  float result = p * first * second;
  return x == x ? result : x;
}

}  // namespace octet
