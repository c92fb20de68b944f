#pragma once
#include <string>
#include <vector>

#include "graph/graph.h"

namespace octet {

// The part of a graph that computes `outputs` from `inputs`, both any tensors of it by name. What does not
// lead to an output is left out; a tensor named as an input is cut off from what computed it.
Graph extract(const Graph& graph, const std::vector<std::string>& inputs,
              const std::vector<std::string>& outputs);

}  // namespace octet
