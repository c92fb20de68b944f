#pragma once
#include "kernels/ref/interpolate.h"
#include "train/torch.h"

namespace octet::train {

// [N, C, H, W] to another size, bilinearly, between the places that the plan says; with gradients. Few
// channels come out one after the other, many side by side: what is behind reads each so.
at::Tensor bilinear(const at::Tensor& x, const ref::ResizePlan& plan);

}  // namespace octet::train
