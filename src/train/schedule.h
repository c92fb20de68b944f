#pragma once
#include "train/options.h"

namespace octet::train {

// The learning rate of a step. `epoch_batches` is how many steps an epoch has. "step" changes it once in
// lr_step_size epochs, "cosine" and "poly" in each step; a warm-up comes before.
double learning_rate(const TrainOptions& options, std::int64_t step, std::int64_t epoch_batches);

// How many steps a run has.
std::int64_t total_steps(const TrainOptions& options, std::int64_t epoch_batches);

}  // namespace octet::train
