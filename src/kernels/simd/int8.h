#pragma once

namespace octet::simd {

// Convolutions and products of int8.
struct Int8Routines {};

}  // namespace octet::simd
