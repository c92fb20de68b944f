#pragma once
#include <cmath>
#include <cstdint>
#include <initializer_list>

namespace octet {

// Random numbers that are the same on every machine, which those of <random>'s distributions are not. The
// generator is SplitMix64. It is made from keys rather than handed around: what is drawn for a sample then
// depends on nothing that happened before.
//
//   Random random({seed, epoch, sample});
//   if (random.uniform() < 0.5) flip(image);
class Random {
 public:
  explicit Random(std::initializer_list<std::uint64_t> keys) {
    for (std::uint64_t key : keys) state_ = mix(state_ + kStep + key);
  }

  std::uint64_t next() { return mix(state_ += kStep); }
  // In [0, 1).
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  double uniform(double low, double high) { return low + (high - low) * uniform(); }
  // In [0, n), for 0 < n < 2^32.
  std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>(((next() >> 32) * static_cast<std::uint64_t>(n)) >> 32);
  }
  // Of mean 0 and variance 1 (Marsaglia's polar method; the other number of the pair is not kept).
  double normal() {
    for (;;) {
      const double x = uniform(-1, 1), y = uniform(-1, 1);
      const double square = x * x + y * y;
      if (square > 0 && square < 1) return x * std::sqrt(-2 * std::log(square) / square);
    }
  }

 private:
  static constexpr std::uint64_t kStep = 0x9e3779b97f4a7c15;

  static std::uint64_t mix(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }

  std::uint64_t state_ = 0;
};

}  // namespace octet
