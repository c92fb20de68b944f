#pragma once
#include "train/ops.h"

// Pooling, resizing and padding on libtorch.
namespace octet::train {

at::Tensor pool2d(const Call& call);
at::Tensor resize(const Call& call);
at::Tensor pad(const Call& call);

}  // namespace octet::train
