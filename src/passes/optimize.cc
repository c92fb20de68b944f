#include "passes/passes.h"

namespace octet {

// to_qdq_form and lower_to_integer are not here yet: the integer kernels that exist are the reference ones,
// slower than the float ones, and quantized models run in the arithmetic that the file defines, to the bit.
void optimize(Graph& graph) {
  remove_dead_nodes(graph);
}

}  // namespace octet
