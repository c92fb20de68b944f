#pragma once
#include "comm/comm.h"
#include "train/torch.h"

namespace octet::train {

// Batch norm in training. Updates the running `mean` and `variance` by `momentum`, the share of the new. With
// a `comm` the statistics are those of the batches of all its processes.
//
// On the CPU sums are kept in double and do not depend on the number of threads. libtorch adds up floats one
// after the other, whose error of 1e-5 is enough for two runs that should be equal to drift apart within a
// few steps.
at::Tensor batch_norm(const at::Tensor& x, const at::Tensor& scale, const at::Tensor& bias, at::Tensor mean,
                      at::Tensor variance, double momentum, double epsilon, Comm* comm);

}  // namespace octet::train
