#pragma once
#include "kernels/simd/simd.h"

// What the sources of this folder make the table of an instruction set of.
namespace octet::simd::OCTET_SIMD {

FloatRoutines float_routines();
Int8Routines int8_routines();
extern const UnaryRoutines kUnary;
extern const BinaryRoutines kBinary;
extern const ImageRoutines kImage;
extern const MovementRoutines kMovement;
extern const ReductionRoutines kReduction;

}  // namespace octet::simd::OCTET_SIMD
