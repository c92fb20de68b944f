#pragma once

namespace octet {

// The largest integer of a signed number of this many bits: 127 for 8. Paddle's abs_max is so many steps.
constexpr int levels_of(int bits) {
  return (1 << (bits - 1)) - 1;
}

}  // namespace octet
