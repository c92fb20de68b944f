#pragma once
#include "graph/graph.h"

namespace octet::quant {

// Batch norms, and other scalings and shifts by constants, go into the weights of the convolution before them
// and into one addition behind it, which every runtime understands. Weights keep their names.
void fold_batch_norms_in_file(Graph& graph);

}  // namespace octet::quant
