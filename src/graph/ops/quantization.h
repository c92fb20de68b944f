#pragma once
#include "graph/ops/infer.h"

namespace octet::ops {

// float32 with at least one element.
void require_scale(const ValueInfo& scale, std::string_view what);

// The dimension of x along which dequantize_sum's weight_scale runs.
std::int64_t dequantize_sum_axis(const Node& node, const Shape& x, bool has_x_scale);

}  // namespace octet::ops
