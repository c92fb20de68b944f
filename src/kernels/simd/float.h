#pragma once

namespace octet::simd {

// Convolutions and products of floats.
struct FloatRoutines {};

}  // namespace octet::simd
