#pragma once
#include <string_view>

#include "train/options.h"
#include "train/torch.h"

// The losses of segmentation, as PaddleSeg defines them (paddleseg/models/losses). Logits are [N, C, H, W],
// labels uint8 [N, H, W]; m is 1 where the label is not the ignored one, p the softmax of the logits, l the
// cross entropy of a pixel.
//
//   CrossEntropyLoss      mean(w*l) / (mean(m*w) + 1e-8), w the weight of the label's class; mean(w*l) with
//                         avg_non_ignore: false; of the worst k pixels mean(w*l) / (mean(w) + 1e-8)
//   OhemCrossEntropyLoss  mean(k*l) / (mean(k) + 1e-5), k the pixels whose label is less probable than
//                         `thresh`, or than the min_kept-th least probable one; all, if there are no more
//                         than min_kept
//   DiceLoss              for each class and picture 1 - (2*sum(p*g) + s) / (sum(p) + sum(g) + s + 1e-8)
//                         over pixels that count, g the label as 0 or 1; their weighted mean. Before
//                         PaddleSeg 2.5: 1 - the mean over classes of (2*sum(p*g) + s) / (sum(p) + sum(g) + s
//                         + 1e-5), with the sums of the batch
//   LovaszSoftmaxLoss     of each class that is present the Lovasz extension of its Jaccard loss (Berman et
//                         al., arXiv 1705.08790); the mean
//   BCELoss               mean(m * binary cross entropy of the sigmoid of each logit) / (mean(m) + 1e-10)
//   MixedLoss             sum of coef * loss
//
// PaddleSeg's DiceLoss writes class 0 over the ignored labels of the batch, so that losses behind it learn
// those pixels as class 0. Here labels stay as they are.
namespace octet::train {

struct SegmentationLossOptions {
  bool batch_dice = false;  // DiceLoss as before PaddleSeg 2.5
};

// An Error when there is no such loss, a setting is out of range, or there is not a weight for each class.
void check_loss(const LossSpec& spec, std::int64_t classes);

at::Tensor segmentation_loss(const LossSpec& spec, const at::Tensor& logits, const at::Tensor& labels,
                             const SegmentationLossOptions& options = {});

// The names of all losses.
std::vector<std::string> segmentation_losses();

}  // namespace octet::train
