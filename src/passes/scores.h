#pragma once
#include <utility>
#include <vector>

#include "graph/graph.h"

namespace octet {

// What a graph does with scores at its end to make answers of them: arg_max, the softmax in front of it, and
// a softmax over the classes of pixels. The scores tell more: how near another answer was.
struct AnswerOps {
  std::vector<Node> nodes;
  std::vector<ValueId> outputs;                            // of the graph with them
  std::vector<std::pair<ValueId, Tensor>> constants = {};  // that they read

  bool empty() const { return nodes.empty(); }
};

// Takes them off, and the scores are the outputs. Outputs that are no answers stay. Shapes are inferred.
AnswerOps take_answer_ops(Graph& graph);

// Puts them behind the same scores, of a graph whose values have kept their numbers.
void put_back(Graph& graph, AnswerOps ops);

}  // namespace octet
