#pragma once
// What the sources of this folder know of the instruction set that they are being compiled for: OCTET_SIMD,
// which is avx2, avx512, ... and whose folder has an isa.h. It brings, in an unnamed namespace (code compiled
// for one instruction set must never be linked into another):
//   vectors of floats and of 32-bit integers, in operations that each round as the scalar one does, so that a
//     vector gives the bits of the reference kernels;
//   the sizes of tiles that its registers hold;
//   the ways to make products of int8, and the parts of a depthwise convolution;
//   what is a shuffle here and a loop there (simd/scalar.h): look-ups, transposes, the place of a maximum.
#ifndef OCTET_SIMD
#error "the sources of kernels/simd are compiled once for each instruction set; see cmake/simd.cmake"
#endif
#include OCTET_SIMD_HEADER  // kernels/simd/<instruction set>/isa.h
