#pragma once
#include "graph/ops/infer.h"

namespace octet::ops {

// What pool2d and resize share with their integer versions: their rows, without shape inference, and the
// output's shape.
OpSpec pool_spec(std::string_view name);
OpSpec resize_spec(std::string_view name);
AttrSpec auto_pad_attr();                      // of convolutions, too
AttrSpec coordinates_attr(const char* value);  // how outputs of a resize lie on the input
AttrSpec nearest_attr();
Shape pool_shape(const Node& node, const Shape& x);
Shape resize_shape(const Node& node, Inputs inputs);

}  // namespace octet::ops
