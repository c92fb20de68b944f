#pragma once
#include "graph/ops/geometry.h"
#include "graph/ops/infer.h"

// Windows over 1, 2 or 3 dimensions: what the shape inference and the kernels of the *_nd ops share.
namespace octet::ops {

// The window of a pool_nd, conv_nd or conv_nd_transpose node along each spatial dimension of x. `kernel` are
// their sizes; kUnknown where only a run decides.
std::vector<WindowAxis> nd_window(const Node& node, const Shape& x, const Shape& kernel);
std::vector<WindowAxis> nd_transpose_window(const Node& node, const Shape& x, const Shape& kernel);

}  // namespace octet::ops
