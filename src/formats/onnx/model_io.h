#pragma once
#include "formats/format.h"

// ONNX models: a ModelProto, and the files beside it that hold its external data.
namespace octet::onnx {

constexpr std::int64_t kOldestOpset = 1, kNewestOpset = 28;
constexpr std::int64_t kOldestIr = 3, kNewestIr = 14;

Graph load_model(const ModelPaths& paths, const LoadOptions& options = {});

// A file of protobuf's ends at 2 GiB. Where tensors would make it larger than `largest` they lie in a file
// beside it.
constexpr std::uint64_t kLargestFile = (std::uint64_t{1} << 31) - (std::uint64_t{1} << 20);
void add_model(AtomicFiles& files, const Graph& graph, const ModelPaths& paths, const SaveOptions& options,
               std::uint64_t largest);
// What did not change since load_model is written as it was read, byte for byte.
void add_model(AtomicFiles& files, const Graph& graph, const ModelPaths& paths,
               const SaveOptions& options = {});

}  // namespace octet::onnx
