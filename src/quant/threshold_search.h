#pragma once
#include "quant/calibrate.h"
#include "quant/decisions.h"
#include "quant/progress.h"
#include "quant/thresholds/thresholds.h"

namespace octet::quant {

// Decides on the threshold of each tensor, by one method. Null: each method is tried, on half of the sample.
// For each tensor the one that changes the outputs of the layers reading it least is taken (where no layer
// reads it: the tensor itself), unless one method for all tensors is better for the whole model.
void find_thresholds(const Graph& graph, const ThresholdMethod* method, const ThresholdOptions& options,
                     const Calibration& calibration, Decisions* decisions, ThreadPool& pool,
                     const StageProgressed& progress);

}  // namespace octet::quant
