#pragma once
#include "base/threads.h"
#include "quant/calibration_sample.h"
#include "quant/decisions.h"
#include "quant/progress.h"

namespace octet::quant {

// Rounds the weights of all layers up or down so that the layers' outputs change least; see rounding.h. With
// fewer than 8 bits it also finds the corrections of biases, if they are wanted.
void round_weights(const Graph& graph, Decisions* decisions, int weight_bits, bool correct_biases,
                   const CalibrationSample& sample, ThreadPool& pool, const Progressed& progress);

}  // namespace octet::quant
