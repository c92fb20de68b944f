#pragma once
#include "graph/ops/infer.h"

namespace octet::ops {

// What pool2d and resize share with their integer versions: the attributes and the output's shape.
std::vector<AttrSpec> pool_attrs();
std::vector<AttrSpec> resize_attrs();
Shape pool_shape(const Node& node, const Shape& x);
Shape resize_shape(const Node& node, Inputs inputs);

}  // namespace octet::ops
