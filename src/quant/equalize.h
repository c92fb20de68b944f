#pragma once
#include "quant/layers.h"

namespace octet::quant {

// Cross-layer equalization: where a convolution feeds another through nothing but a bias and a ReLU, a
// channel between them can be scaled down in the one and up in the other. Channels with large values and
// small weights behind them give some of their range to the weights, so that all channels use the one scale
// of the tensor. Returns how many pairs were equalized.
int equalize(Graph& graph, const Sample& sample, ThreadPool& pool);

}  // namespace octet::quant
