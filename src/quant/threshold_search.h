#pragma once
#include "quant/calibrate.h"
#include "quant/decisions.h"
#include "quant/progress.h"
#include "quant/thresholds/thresholds.h"

namespace octet::quant {

// Decides on the threshold of each tensor, by one method. Null: each method is tried. For each tensor the one
// that changes the outputs of the layers reading it least, on half of the sample, is taken (where no layer
// reads it: the tensor itself), unless one method for all tensors is better for the whole model, on the other
// half, with its biases corrected if the finished one will have that.
void find_thresholds(const Graph& graph, const ThresholdMethod* method, const ThresholdOptions& options,
                     bool corrects_biases, const Calibration& calibration, Decisions* decisions,
                     ThreadPool& pool, const StageProgressed& progress);

}  // namespace octet::quant
