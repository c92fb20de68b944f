#pragma once
#include "graph/ops/infer.h"

namespace octet::ops {

// An einsum node: the label of each dimension of each operand and of the result, the size of each label, and
// the labels that are summed over.
struct EinsumPlan {
  std::vector<std::vector<std::size_t>> operands;
  std::vector<std::size_t> output, summed;
  Shape sizes;  // by label; kUnknown before a run
};
EinsumPlan einsum_plan(const Node& node, const std::vector<Shape>& shapes);

}  // namespace octet::ops
