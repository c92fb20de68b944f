#pragma once
#include <map>
#include <vector>

#include "graph/graph.h"

namespace octet::quant {

// Batch norms, and other scalings and shifts by constants, go into the weights of the convolution before them
// and into one addition behind it, which every runtime understands. Weights keep their names. What became of
// weights that were scaled is returned, by the new ones.
struct FoldedWeight {
  ValueId was = kNoValue;
  std::vector<double> factors;  // one per output channel
};
std::map<ValueId, FoldedWeight> fold_batch_norms_in_file(Graph& graph);

}  // namespace octet::quant
