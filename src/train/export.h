#pragma once
#include <filesystem>

#include "tasks/task.h"
#include "train/network.h"

namespace octet::train {

// Writes the int8 model that a quantized network has become, under the name that says how it was made,
// qat_inference, and under the one that pipelines look for, inference. Gives the first file.
std::filesystem::path export_quantized(const Network& network, const Task& task,
                                       const std::filesystem::path& folder);

}  // namespace octet::train
