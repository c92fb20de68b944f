#pragma once
#include <filesystem>
#include <functional>

#include "base/file.h"
#include "formats/paddle/model_files.h"
#include "graph/graph.h"

// Paddle inference models: .pdmodel + .pdiparams, and __model__ + __params__ (the same bytes under older
// names).
namespace octet::paddle {

// Node by node what the program says, in both generations of quantized models too. Parameters are views of
// the mapped file. Ops that octet doesn't know become nodes that can't run but are written back.
Graph load_model(const ModelPaths& paths);

// Writes both files, or neither. What did not change since load_model is written as it was read, byte for
// byte.
void save_model(const Graph& graph, const ModelPaths& paths);
// The same, to be committed with what else belongs to the model.
void add_model(AtomicFiles& files, const Graph& graph, const ModelPaths& paths);

// save_model into memory: the program, and the parameters one after the other.
std::string write_model(const Graph& graph, const std::function<void(Bytes)>& write_params);

}  // namespace octet::paddle
