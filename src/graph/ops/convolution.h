#pragma once
#include "graph/ops/infer.h"

namespace octet::ops {

// What conv2d and conv2d_transpose share with their integer versions: the attributes and the output's shape.
std::vector<AttrSpec> conv_attrs();
std::vector<AttrSpec> conv_transpose_attrs();
Shape conv_shape(const Node& node, const Shape& x, const Shape& weight);
Shape conv_transpose_shape(const Node& node, const Shape& x, const Shape& weight);

}  // namespace octet::ops
