#pragma once
#include <vector>

#include "graph/graph.h"

namespace octet {

// Who makes and who reads each value of a graph, as it was when this was built.
class Uses {
 public:
  explicit Uses(const Graph& graph);

  int producer(ValueId id) const {
    return producers_[static_cast<std::size_t>(id)];
  }  // a node's index, or -1
  const std::vector<int>& consumers(ValueId id) const { return consumers_[static_cast<std::size_t>(id)]; }
  bool is_output(ValueId id) const { return is_output_[static_cast<std::size_t>(id)]; }
  // Whether nobody but this one consumer can see the value.
  bool only_for_one(ValueId id) const { return consumers(id).size() == 1 && !is_output(id); }

 private:
  std::vector<int> producers_;
  std::vector<std::vector<int>> consumers_;  // a node that reads a value twice is there twice
  std::vector<bool> is_output_;
};

}  // namespace octet
