#pragma once
#include <functional>
#include <string_view>
#include <vector>

#include "formats/paddle_common/op_desc.h"
#include "graph/graph.h"

namespace octet::paddle {

// Paddle's rnn op, in its LSTM mode: one or several layers, each in one or two directions. In the graph a
// layer is a product with the weights, a sum with the biases and an lstm node; what happens to the weights
// before that follows from constants.

struct RnnReader {
  Graph& graph;
  std::function<ValueId(std::string_view)> use;     // the value of a name that the op reads
  std::function<ValueId(std::string_view)> define;  // the value of a name that it defines
  std::function<ValueId(Shape)> inner;              // a float value between the nodes
};

// The nodes for an rnn op. An Error says why octet does not run it; then nothing was defined.
std::vector<Node> read_rnn(const OpDesc& op, const RnnReader& reader);

}  // namespace octet::paddle
