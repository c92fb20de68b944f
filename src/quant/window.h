#pragma once
#include <cstdint>

#include "graph/graph.h"

// Large pictures need not need large memory: decisions are tried with all tensors of a run at hand, so they
// see windows of such pictures.
namespace octet::quant {

// How many pixels a picture may have so that all tensors of a run take no more than kWindowBytes; 0: the
// model takes pictures of one size only, or no pictures.
inline constexpr double kWindowBytes = 160e6;
std::int64_t window_pixels(const Graph& graph);

// A window of at most so many pixels, of the shape of the pictures [N, C, H, W]; where it lies depends on
// `number`. What is small enough stays as it is.
Tensor window_of(const Tensor& pictures, std::int64_t pixels, std::int64_t number);

}  // namespace octet::quant
