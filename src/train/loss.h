#pragma once
#include <vector>

#include "data/batch.h"
#include "tasks/task.h"
#include "train/segmentation_loss.h"

namespace octet::train {

struct LossOptions {
  // Of a class for each picture.
  double label_smoothing = 0;     // share of the target that goes to all classes alike
  at::Tensor class_weights = {};  // one for each class; undefined: all alike

  // Of pixels.
  std::vector<LossSpec> specs = {};  // one for each output of the network
  SegmentationLossOptions segmentation = {};
};

// The losses of a network's outputs for a batch, whose sum training makes small. A classifier has one: the
// mean over all that has a target, by the weights of the target's classes. Mixed pictures have a target of
// two classes. A segmentation network has one for each output, with its coefficient.
std::vector<at::Tensor> losses_of(Loss loss, const std::vector<at::Tensor>& outputs, const Batch& batch,
                                  const LossOptions& options);

}  // namespace octet::train
