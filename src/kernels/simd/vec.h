#pragma once
#include <cstdint>

// Vectors of floats and of 32-bit integers, as wide as the instruction set that the file is compiled for.
// Each operation rounds as the scalar one does, so a vector gives the bits of the reference kernels. In an
// unnamed namespace: code compiled for one instruction set must never be linked into another.
#if defined(__AVX512F__)
#include "kernels/simd/vec_avx512.h"
#elif defined(__AVX2__)
#include "kernels/simd/vec_avx2.h"
#elif defined(__ARM_NEON)
#include "kernels/simd/vec_neon.h"
#else
#error "no vectors for this instruction set"
#endif
