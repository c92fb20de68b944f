#pragma once

namespace octet {

// How many multiply-adds this machine can do, measured: loops on registers alone that neither load nor store.
// No network can be faster, unless it needs fewer multiplications (Winograd).
struct Roofline {
  double fp32_gmacs = 0;  // 10^9 multiply-adds a second, of all threads together; 0: not known for this CPU
  double int8_gmacs = 0;  // with the fastest instructions that give exact sums of 8-bit products
};

// Takes a tenth of a second.
Roofline measure_roofline(int threads);

}  // namespace octet
