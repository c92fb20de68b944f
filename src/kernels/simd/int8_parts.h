#pragma once
#include "kernels/simd/table.h"

// What the sources int8_*.cc contribute to Int8Routines.
namespace octet::simd::OCTET_SIMD {

void int8_multiply(const Int8Rows& rows, const Int8Panel& panel, const Int8Target& target);
void int8_depthwise(const Int8Plane& plane, const Int8Channels& channels, const Int8Target& target);
decltype(Int8Routines::depthwise_strip) int8_depthwise_strip();
decltype(Int8Routines::quads) int8_quads();
decltype(Int8Routines::depthwise_quads) int8_depthwise_quads();
Int8WinogradRoutines int8_winograd();
std::int64_t int8_sum_place(std::int64_t channel);
std::int64_t int8_weight_place(std::int64_t channel);

}  // namespace octet::simd::OCTET_SIMD
