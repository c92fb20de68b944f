#pragma once
#include "base/threads.h"
#include "graph/graph.h"
#include "quant/calibration_sample.h"

namespace octet::quant {

// What is equalized: nothing, everything, or only where channels differ greatly.
enum class Equalization : std::uint8_t { kNone, kAll, kOutliers };

// Raises `largest` to the magnitudes that the channels of x reach: dim 1 of images, the last one of others.
void add_channel_maxima(const Tensor& x, std::vector<float>* largest);

// How many times the magnitude of a tensor's largest channel is that of its median channel; 0: it has none.
double channel_spread(const std::vector<float>& largest);
constexpr double kGreatSpread = 32;  // with one scale for all, 5 of the 8 bits of most channels are lost

// Cross-layer equalization: where convolutions feed others through nothing but biases, additions and ReLUs, a
// channel between them can be scaled down in the ones and up in the others. Channels with large values and
// small weights behind them give some of their range to the weights, so that all channels use the one scale
// of the tensor. Residual streams are scaled as a whole. Returns how many of them, and of single tensors,
// were equalized; `scaled` gets the tensors whose numbers are other ones now.
int equalize(Graph& graph, Equalization which, const CalibrationSample& sample, ThreadPool& pool,
             std::vector<ValueId>* scaled = nullptr);

}  // namespace octet::quant
