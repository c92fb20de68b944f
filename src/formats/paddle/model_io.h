#pragma once
#include <functional>

#include "formats/format.h"

// Paddle inference models: .pdmodel + .pdiparams, and __model__ + __params__ (the same bytes under older
// names).
namespace octet::paddle {

// Node by node what the program says, in both generations of quantized models too. Parameters are views of
// the mapped file. Ops that octet doesn't know become nodes that can't run but are written back.
Graph load_model(const ModelPaths& paths);

// What did not change since load_model is written as it was read, byte for byte.
void add_model(AtomicFiles& files, const Graph& graph, const ModelPaths& paths);

// add_model into memory: the program, and the parameters one after the other.
std::string write_model(const Graph& graph, const std::function<void(Bytes)>& write_params);

}  // namespace octet::paddle
