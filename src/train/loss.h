#pragma once
#include "data/batch.h"
#include "tasks/task.h"
#include "train/torch.h"

namespace octet::train {

struct LossOptions {
  double label_smoothing = 0;     // share of the target that goes to all classes alike
  at::Tensor class_weights = {};  // one for each class; undefined: all alike
};

// The loss of a network's output for a batch: the mean over all that has a target, by the weights of the
// target's classes. Mixed pictures have a target of two classes.
at::Tensor loss_of(Loss loss, const at::Tensor& output, const Batch& batch, const LossOptions& options);

}  // namespace octet::train
