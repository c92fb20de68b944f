#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace octet::cli {

// What `octet info MODEL` tells about a graph.
struct ModelSummary {
  std::map<std::string, int> ops;          // how many nodes of each
  std::set<std::string> unknown_ops;       // octet keeps these when it writes the model, and cannot run them
  std::vector<std::string> unknown_nodes;  // each node of these, and why octet can't run it
  std::int64_t parameters = 0;             // tensors
  std::int64_t parameter_elements = 0;
  std::uint64_t parameter_bytes = 0;
  std::string quantization;  // "" for a float model, otherwise the form of its integers
  int quantized_layers = 0;  // convolutions and products that work on quantized numbers
  int layers = 0;            // all of them
  std::set<std::int64_t> bits;
};

ModelSummary summarize(const Graph& graph);

}  // namespace octet::cli
