#pragma once
#include "graph/graph.h"

namespace octet::models {

// What a trained network is deployed as: without dropout, and with a softmax behind its scores if it shall
// answer with probabilities. Batch norms stay, as in Paddle's own files; whoever runs the model folds them.
void to_inference(Graph& graph, bool softmax);

}  // namespace octet::models
