#pragma once
#include "kernels/simd/simd.h"

// OCTET_SIMD is the instruction set that a source of this folder is being compiled for: avx2, avx512, ...
#ifndef OCTET_SIMD
#error "the sources of kernels/simd are compiled once for each instruction set; see CMakeLists.txt"
#endif

namespace octet::simd::OCTET_SIMD {

FloatRoutines float_routines();
Int8Routines int8_routines();
extern const LightRoutines kLightRoutines;

}  // namespace octet::simd::OCTET_SIMD
