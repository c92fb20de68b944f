#pragma once
#include "comm/comm.h"
#include "train/torch.h"

namespace octet::train {

// Batch norm in training with the statistics of the batches of all processes. Updates the running `mean` and
// `variance` by `momentum`, the share of the new.
at::Tensor sync_batch_norm(const at::Tensor& x, const at::Tensor& scale, const at::Tensor& bias,
                           at::Tensor mean, at::Tensor variance, double momentum, double epsilon, Comm& comm);

}  // namespace octet::train
