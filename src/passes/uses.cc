#include "passes/uses.h"

namespace octet {

Uses::Uses(const Graph& graph)
    : producers_(graph.values.size(), -1), consumers_(graph.values.size()), is_output_(graph.values.size()) {
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    for (ValueId id : graph.nodes[i].inputs)
      if (id != kNoValue) consumers_[static_cast<std::size_t>(id)].push_back(static_cast<int>(i));
    for (ValueId id : graph.nodes[i].outputs)
      if (id != kNoValue) producers_[static_cast<std::size_t>(id)] = static_cast<int>(i);
  }
  for (ValueId id : graph.outputs) is_output_[static_cast<std::size_t>(id)] = true;
}

}  // namespace octet
