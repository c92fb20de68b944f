#pragma once
#include "graph/ops/infer.h"

// Attributes and inputs of the shape ops brought into one plain form, for the shape inference and the kernels
// alike.
namespace octet::ops {

// An integer that an input overrides; nothing when that input's element is not known yet.
std::optional<std::int64_t> attr_or_input(const Node& node, std::string_view name, const ValueInfo* input);

// transpose: the permutation, checked, each in [0, rank). None given: the dims in reverse.
std::vector<std::size_t> permutation(const Node& node, std::size_t rank);

// reduce_*: which dims go. `axes` is that input, or null.
std::vector<bool> reduced_dims(const Node& node, std::size_t rank, const Tensor* axes = nullptr);

// slice: for each dim of x, where the slice begins and how long it is; kUnknown before a run decides.
struct SliceDim {
  std::int64_t begin = 0;
  std::int64_t size = kUnknown;
  std::int64_t step = 1;
  bool dropped = false;  // of size 1, and not in the result
};
std::vector<SliceDim> slice_dims(const Node& node, Inputs inputs);

}  // namespace octet::ops
