#include <algorithm>

#include "passes/passes.h"

namespace octet {

void remove_dead_nodes(Graph& graph) {
  std::vector<bool> needed(graph.values.size());
  for (ValueId id : graph.outputs) needed[static_cast<std::size_t>(id)] = true;
  std::vector<Node> kept;
  for (auto node = graph.nodes.rbegin(); node != graph.nodes.rend(); ++node) {
    bool alive = std::any_of(node->outputs.begin(), node->outputs.end(), [&](ValueId id) {
      return id != kNoValue && needed[static_cast<std::size_t>(id)];
    });
    if (!alive) continue;
    for (ValueId id : node->inputs)
      if (id != kNoValue) needed[static_cast<std::size_t>(id)] = true;
    kept.push_back(std::move(*node));
  }
  std::reverse(kept.begin(), kept.end());
  graph.nodes = std::move(kept);
  // Constants that nobody reads any more give their memory back.
  for (std::size_t i = 0; i < graph.values.size(); ++i)
    if (!needed[i]) graph.values[i].constant = {};
}

}  // namespace octet
