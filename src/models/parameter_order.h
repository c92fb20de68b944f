#pragma once
#include <vector>

#include "graph/graph.h"

namespace octet::models {

// Puts parameters in the order of a state dictionary: a layer's own before those of the layers in it, which
// come in the order of their numbers, or else as the network declares them. That is the order of first use,
// unless the network uses its layers in another order than it declares them.
void order_parameters(std::vector<const Value*>& parameters);

}  // namespace octet::models
