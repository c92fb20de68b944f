#include "train/loss.h"

namespace octet::train {

at::Tensor loss_of(Loss loss, const at::Tensor& output, const Batch& batch, const LossOptions& options) {
  switch (loss) {
    case Loss::kCrossEntropy: {
      const at::Tensor labels = at::tensor(batch.labels, at::kLong).to(output.device());
      return at::cross_entropy_loss(output, labels, {}, at::Reduction::Mean, -100, options.label_smoothing);
    }
  }
  check(false, "every loss has a case");
  return {};
}

}  // namespace octet::train
