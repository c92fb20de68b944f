#pragma once
#include "base/reporter.h"
#include "train/options.h"

namespace octet::train {

// `octet qat`: the quantized model learns to answer as the float one does, from pictures that need no labels.
void distill(const DistillOptions& options, Reporter& reporter);

}  // namespace octet::train
