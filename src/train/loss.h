#pragma once
#include "data/batch.h"
#include "tasks/task.h"
#include "train/torch.h"

namespace octet::train {

struct LossOptions {
  double label_smoothing = 0;  // share of the target that goes to all classes alike
};

// The loss of a network's output for a batch: the mean over all that has a target.
at::Tensor loss_of(Loss loss, const at::Tensor& output, const Batch& batch, const LossOptions& options);

}  // namespace octet::train
