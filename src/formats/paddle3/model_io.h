#pragma once
#include <functional>

#include "formats/format.h"

// Paddle 3's inference models: inference.json + inference.pdiparams.
namespace octet::paddle3 {

// Node by node what the program says, but for constants and lists, which are ops there and attributes and
// slots here. Parameters are views of the mapped file. Ops that octet doesn't know become nodes that can't
// run but are written back.
Graph load_model(const ModelPaths& paths);

// What did not change since load_model is written as it was read, byte for byte.
void add_model(AtomicFiles& files, const Graph& graph, const ModelPaths& paths);

// add_model into memory: the program, and the parameters one after the other.
std::string write_model(const Graph& graph, const std::function<void(Bytes)>& write_params);

}  // namespace octet::paddle3
