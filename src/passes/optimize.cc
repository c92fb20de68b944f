#include "passes/passes.h"

namespace octet {

void optimize(Graph& graph) {
  to_qdq_form(graph);
  lower_to_integer(graph);
  remove_dead_nodes(graph);
}

}  // namespace octet
