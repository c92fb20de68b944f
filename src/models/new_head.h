#pragma once
#include <cstdint>
#include <string>

#include "graph/graph.h"
#include "tensor/state_dict.h"

namespace octet::models {

// Gives a graph that ends in one score a class (load_inference_model) another number of classes: the last
// linear layer or convolution, and what is added to it, start anew with random weights of this seed. With the
// same number nothing changes. An Error that starts with `source` and says what stands in the way.
void fit_head(Graph& graph, std::int64_t classes, std::uint64_t seed, const std::string& source);

// The number of classes that a checkpoint of the graph is for, by the shape of its last layer; that of the
// graph where the checkpoint does not tell.
std::int64_t num_classes_of(const Graph& graph, const StateDict& state);

}  // namespace octet::models
