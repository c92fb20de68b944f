#pragma once
#include <string>

#include "graph/graph.h"
#include "octet/model.h"

namespace octet::models {

// An inference model, to be trained. It ends with softmax most often; the loss wants what comes before.
struct InferenceModel {
  Graph graph;
  bool had_softmax = false;
};

// An Error when the model is quantized already, or has several inputs.
InferenceModel load_inference_model(const std::string& path, const LoadOptions& options = {});

}  // namespace octet::models
