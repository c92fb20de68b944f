#pragma once
#include <functional>

#include "graph/ops/infer.h"

namespace octet {

// Exporters compute shapes in the graph: shape -> slice -> concat -> reshape. Before a run, this follows such
// small integer tensors element by element, so that ?x3x64x48 still tells a resize that its output is 64x48.

// What the integer vector (or number) that `node` makes holds, as far as that can be known; nothing when the
// node is not such a computation. `values` has, for each input, what is known of its elements, or null.
std::optional<ops::MaybeInts> shape_values(const Node& node, ops::Inputs inputs,
                                           std::span<const ops::MaybeInts* const> values,
                                           const ValueInfo& output);

// The elements as a tensor, when all of them are known.
std::optional<Tensor> known_tensor(const ops::MaybeInts& values, const ValueInfo& info);

// Computes a node from its inputs, of which absent ones are null; false when it can't.
using EvaluateNode =
    std::function<bool(const Node& node, const std::vector<const Tensor*>& inputs, Tensor* output)>;

// infer_values() that also computes the small results of which all inputs are known, whatever the op and the
// dtype: when shapes are known, all that is made of them is.
InferredValues infer_values(const Graph& graph, std::vector<ValueInfo> infos, const EvaluateNode& evaluate);

}  // namespace octet
