#pragma once
#include "base/threads.h"
#include "graph/graph.h"
#include "quant/calibration_sample.h"

namespace octet::quant {

// Cross-layer equalization: where convolutions feed others through nothing but biases, additions and ReLUs, a
// channel between them can be scaled down in the ones and up in the others. Channels with large values and
// small weights behind them give some of their range to the weights, so that all channels use the one scale
// of the tensor. Residual streams are scaled as a whole. Returns how many of them, and of single tensors,
// were equalized.
int equalize(Graph& graph, const CalibrationSample& sample, ThreadPool& pool);

}  // namespace octet::quant
