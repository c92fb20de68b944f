#pragma once
#include "graph/ops/infer.h"

namespace octet::ops {

// What conv2d and conv2d_transpose share with their integer versions: their rows, without slots, epilogue and
// shape inference, and the output's shape.
OpSpec conv_spec(std::string_view name);
OpSpec conv_transpose_spec(std::string_view name);
Shape conv_shape(const Node& node, const Shape& x, const Shape& weight);
Shape conv_transpose_shape(const Node& node, const Shape& x, const Shape& weight);

}  // namespace octet::ops
