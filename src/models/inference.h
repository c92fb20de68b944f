#pragma once
#include "graph/graph.h"

namespace octet::models {

// What is done with a network's scores.
enum class OutputOp : std::uint8_t {
  kNone,
  kSoftmax,  // probabilities
  kArgmax,   // the class with the best score, the first of equal ones
};

struct InferenceOptions {
  OutputOp output = OutputOp::kSoftmax;
  DType class_dtype = DType::kInt64;  // of kArgmax; PaddleSeg writes int32 from its version 2.7 on
  // The scores of auxiliary heads are outputs, too, with the same op behind them. Else they go, and what only
  // they need.
  bool keep_aux = false;
};

// What a trained network is deployed as: without dropout, and with an op behind its scores if it shall answer
// with more than those. Batch norms stay, as in Paddle's own files; whoever runs the model folds them.
void to_inference(Graph& graph, const InferenceOptions& options);

// A network that takes pictures of any size, for pictures of one size alone: `shape` is that of its only
// input, whose first dimension may be kUnknown. What follows from it needs no computing in a run any more. An
// Error when the network can't take such an input.
void fix_input_shape(Graph& graph, const Shape& shape);

}  // namespace octet::models
