#pragma once
#include "train/torch.h"

namespace octet::train {

// The cross entropy of each pixel, -log softmax(logits)[label], as [N, H, W]; 0 where the label is `ignored`.
// `logits` is [N, C, H, W] in any memory order, `labels` uint8 [N, H, W]. For the backward pass the
// probabilities are kept, and the logits are not. The other labels are below C.
at::Tensor pixel_cross_entropy(const at::Tensor& logits, const at::Tensor& labels, int ignored);

}  // namespace octet::train
