#include "passes/extract.h"

#include <algorithm>

namespace octet {

namespace {

ValueId find(const Graph& graph, const std::string& name) {
  ValueId id = graph.find_value(name);
  if (id == kNoValue) fail("{}: the model has no tensor of this name; its graph, as text, lists them", name);
  return id;
}

}  // namespace

Graph extract(const Graph& graph, const std::vector<std::string>& inputs,
              const std::vector<std::string>& outputs) {
  Graph part;
  part.values = graph.values;
  part.source = graph.source;
  std::vector<bool> given(graph.values.size()), needed(graph.values.size());
  for (const std::string& name : inputs) {
    ValueId id = find(graph, name);
    given[static_cast<std::size_t>(id)] = true;
    part.inputs.push_back(id);
    part.value(id).constant = {};
  }
  for (const std::string& name : outputs) {
    ValueId id = find(graph, name);
    needed[static_cast<std::size_t>(id)] = true;
    part.outputs.push_back(id);
  }
  for (auto node = graph.nodes.rbegin(); node != graph.nodes.rend(); ++node) {
    bool wanted = std::any_of(node->outputs.begin(), node->outputs.end(), [&](ValueId id) {
      return id != kNoValue && needed[static_cast<std::size_t>(id)] && !given[static_cast<std::size_t>(id)];
    });
    if (!wanted) continue;
    for (ValueId id : node->inputs)
      if (id != kNoValue) needed[static_cast<std::size_t>(id)] = true;
    part.nodes.push_back(*node);
  }
  std::reverse(part.nodes.begin(), part.nodes.end());
  for (ValueId id : graph.inputs)
    if (needed[static_cast<std::size_t>(id)] && !given[static_cast<std::size_t>(id)])
      fail("{}: this input is needed for the outputs, and was not given", graph.value(id).name);
  return part;
}

}  // namespace octet
