#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"

// The zoo: networks as graphs, with fresh weights.
//
//   Graph graph = models::build_model("mobilenet_v3_small", {.num_classes = 10, .img_size = 64});
//
// The input is "x", ?x3xHxW; the output is one score (logit) a class, without softmax. The graph has what
// training needs: batch_norm nodes with epsilon and Paddle's momentum (what the running statistics keep of
// themselves in a step), and dropout nodes. A constant is named as the parameter is in a checkpoint,
// "features.0.0.weight"; names.h reads and writes those. A linear layer is matmul and add, its weight is
// [in, out].

namespace octet::models {

struct ModelOptions {
  std::int64_t num_classes = 1000;
  std::int64_t img_size = 224;  // height and width
  double width = 1.0;           // multiplies the channels of every layer
  std::uint64_t seed = 0;       // the same seed: the same weights
};

const std::vector<std::string>& model_names();

// Fails with the names that exist when there is no such network, or when an option is out of bounds.
void check_model_name(std::string_view name);
Graph build_model(std::string_view name, const ModelOptions& options = {});

}  // namespace octet::models
