#pragma once
#include "graph/ops/infer.h"

// What an op does to a float before it stores it (docs/ops.md, "Epilogues").
namespace octet::ops {

// The row of an op, with the attributes of an epilogue and their check.
OpSpec with_epilogue(OpSpec spec);
void check_epilogue(const Graph& graph, const Node& node);

// Fills the outputs of an op with an epilogue: int8 when there is an out_scale, else float32, and the float
// once more where the node names a second output.
void infer_epilogue(const Node& node, const ValueInfo* out_scale, const Shape& out, Outputs outputs);

// The same for a convolution or product with `channels` output channels, whose inputs from `first` on are
// bias, out_scale and residual.
void infer_linear_epilogue(const Node& node, Inputs inputs, std::size_t first, const Shape& out,
                           std::int64_t channels, Outputs outputs);

// A scale of one element.
void require_one(const ValueInfo& value, std::string_view what);

}  // namespace octet::ops
