#pragma once
#include "kernels/simd/table.h"

// What the sources float_*.cc contribute to FloatRoutines.
namespace octet::simd::OCTET_SIMD {

std::int64_t float_panel_width(std::int64_t columns);
void float_multiply(const FloatProduct& product);
void float_depthwise(const FloatDepthwise& depthwise);
void float_winograd_input(const FloatWinograd& winograd);
void float_winograd_output(const FloatWinograd& winograd);

}  // namespace octet::simd::OCTET_SIMD
