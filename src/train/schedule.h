#pragma once
#include "train/options.h"

namespace octet::train {

// The learning rate of a batch, counted over all epochs; `epoch_batches` is how many an epoch has. "step"
// changes it once in lr_step_size epochs, "step_iters" in as many iterations, "piecewise" at lr_boundaries,
// "cosine" and "poly" in each step of the optimiser, "constant" never; a warm-up comes before. Where a step
// takes several batches (TrainOptions::accumulate) it is the learning rate of the same step in a run with
// batches so many times as large.
double learning_rate(const TrainOptions& options, std::int64_t batch, std::int64_t epoch_batches);

// How many batches a run has.
std::int64_t total_batches(const TrainOptions& options, std::int64_t epoch_batches);

}  // namespace octet::train
