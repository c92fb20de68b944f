#include "train/loss.h"

#include "train/convert.h"

namespace octet::train {

namespace {

// Of targets that are shares of classes; for one class each it is what libtorch computes for labels.
at::Tensor soft_cross_entropy(const at::Tensor& output, const at::Tensor& labels, const Mixture& mixture,
                              const LossOptions& options) {
  const std::int64_t classes = output.size(1);
  const at::Tensor others = at::tensor(mixture.labels, at::kLong).to(output.device());
  at::Tensor targets = at::one_hot(labels, classes).to(at::kFloat) * (1 - mixture.share) +
                       at::one_hot(others, classes).to(at::kFloat) * mixture.share;
  const at::Tensor weights =
      options.class_weights.defined() ? options.class_weights : at::ones_like(output[0]);
  const at::Tensor total = (targets * weights).sum();
  if (options.label_smoothing > 0)
    targets =
        targets * (1 - options.label_smoothing) + options.label_smoothing / static_cast<double>(classes);
  return -(targets * weights * at::log_softmax(output, 1)).sum() / total;
}

at::Tensor cross_entropy(const at::Tensor& output, const Batch& batch, const LossOptions& options) {
  const at::Tensor labels = at::tensor(batch.labels, at::kLong).to(output.device());
  if (!batch.mixture.labels.empty()) return soft_cross_entropy(output, labels, batch.mixture, options);
  return at::cross_entropy_loss(output, labels, options.class_weights, at::Reduction::Mean, -100,
                                options.label_smoothing);
}

std::vector<at::Tensor> pixel_losses(const std::vector<at::Tensor>& outputs, const Batch& batch,
                                     const LossOptions& options) {
  check(outputs.size() == options.specs.size(), "there is a loss for each output");
  const at::Tensor labels = view_in_torch(batch.masks).to(outputs.at(0).device());
  std::vector<at::Tensor> losses;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const LossSpec& spec = options.specs[i];
    const at::Tensor loss = segmentation_loss(spec, outputs[i], labels, options.segmentation);
    losses.push_back(spec.coef == 1 ? loss : loss * spec.coef);
  }
  return losses;
}

}  // namespace

std::vector<at::Tensor> losses_of(Loss loss, const std::vector<at::Tensor>& outputs, const Batch& batch,
                                  const LossOptions& options) {
  switch (loss) {
    case Loss::kCrossEntropy:
      return {cross_entropy(outputs.at(0), batch, options)};
    case Loss::kPixels:
      return pixel_losses(outputs, batch, options);
  }
  check(false, "every loss has a case");
  return {};
}

}  // namespace octet::train
