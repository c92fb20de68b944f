#include "train/ema.h"

#include <algorithm>

namespace octet::train {

Ema::Ema(Network& network, double decay) : network_(network), decay_(decay) {
  const at::NoGradGuard no_gradients;
  for (const auto* weights : {&network.parameters(), &network.statistics()})
    for (const Weight& weight : *weights) {
      others_.push_back(weight);
      others_.back().tensor = weight.tensor.detach().clone();
    }
}

void Ema::update(std::int64_t steps) {
  const at::NoGradGuard no_gradients;
  const auto before = static_cast<double>(steps - 1);
  const double decay = std::min(decay_, (1 + before) / (10 + before));
  std::size_t at = 0;
  for (const auto* weights : {&network_.parameters(), &network_.statistics()})
    for (const Weight& weight : *weights) others_[at++].tensor.lerp_(weight.tensor, 1 - decay);
}

std::vector<at::Tensor> Ema::statistics() {
  std::vector<at::Tensor> tensors;
  for (std::size_t i = network_.parameters().size(); i < others_.size(); ++i)
    tensors.push_back(others_[i].tensor);
  return tensors;
}

void Ema::exchange() {
  const at::NoGradGuard no_gradients;
  std::size_t at = 0;
  for (auto* weights : {&network_.parameters(), &network_.statistics()})
    for (Weight& weight : *weights) {
      const at::Tensor mine = weight.tensor.detach().clone();
      weight.tensor.copy_(others_[at].tensor);
      others_[at++].tensor.copy_(mine);
    }
}

}  // namespace octet::train
