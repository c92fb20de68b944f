#pragma once
#include "train/options.h"

namespace octet::train {

// `octet qat`: the quantized model learns to answer as the float one does, from pictures that need no labels.
// Returns the exit code.
int distill(const DistillOptions& options);

}  // namespace octet::train
