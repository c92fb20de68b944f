#pragma once
#include "quant/output_error.h"
#include "quant/progress.h"

// What quantizing costs, and what is therefore better left in float.
namespace octet::quant {

// A layer's part in the whole.
struct LayerShare {
  Layer layer;
  double error = 0;    // of the outputs, when it is the only layer that is quantized
  double work = 0;     // its share of the multiplications of all layers
  double weights = 0;  // and of their weights
};

// Of the layers with weights whose inputs nobody else reads as integers.
std::vector<LayerShare> layer_shares(const Graph& graph, const Decisions& decisions,
                                     const CalibrationSample& sample, const OutputError& output,
                                     ThreadPool& pool, const Progressed& progress);

// Takes layers out of the decisions that each make much of the output's error for their work, the worst
// first, as long as they have no more than `float_share` of the model's multiplications. The weights of those
// that have many stay integers, which are to be made anew. A few pictures of the sample tell.
void leave_sensitive_layers(const Graph& graph, Decisions* decisions, double float_share,
                            const CalibrationSample& sample, ThreadPool& pool, const Progressed& progress);

// Takes optional insertion points out whose tensors would lose too much: the gain in speed is not worth the
// noise.
void drop_noisy_points(const Graph& graph, Decisions* decisions, const CalibrationSample& sample,
                       ThreadPool& pool);

}  // namespace octet::quant
