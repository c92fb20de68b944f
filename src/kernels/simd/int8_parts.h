#pragma once
#include "kernels/simd/table.h"

// What the sources int8_*.cc contribute to Int8Routines.
namespace octet::simd::OCTET_SIMD {

void int8_multiply(const Int8Rows& rows, const Int8Panel& panel, const Int8Target& target);

}  // namespace octet::simd::OCTET_SIMD
