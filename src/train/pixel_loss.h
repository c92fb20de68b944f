#pragma once
#include "train/torch.h"

namespace octet::train {

// The cross entropy of each pixel, -log softmax(logits)[label], as [N, H, W]; 0 where the label is `ignored`.
// `logits` is [N, C, H, W] in any memory order, `labels` uint8 [N, H, W]; the other labels are below C. Of
// bfloat16 the losses are float32 all the same.
at::Tensor pixel_cross_entropy(const at::Tensor& logits, const at::Tensor& labels, int ignored);

}  // namespace octet::train
