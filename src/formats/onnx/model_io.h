#pragma once
#include "formats/format.h"

// ONNX models: a ModelProto, and the files beside it that hold its external data.
namespace octet::onnx {

constexpr std::int64_t kOldestOpset = 6, kNewestOpset = 28;
constexpr std::int64_t kOldestIr = 3, kNewestIr = 14;

Graph load_model(const ModelPaths& paths, const LoadOptions& options = {});

// What did not change since load_model is written as it was read, byte for byte.
void add_model(AtomicFiles& files, const Graph& graph, const ModelPaths& paths,
               const SaveOptions& options = {});

}  // namespace octet::onnx
