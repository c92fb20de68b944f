#include "train/optimizer.h"

#include <algorithm>
#include <cmath>

namespace octet::train {

Optimizer::Optimizer(std::vector<Weight>& parameters, const TrainOptions& options)
    : parameters_(parameters), options_(options) {
  check(!parameters.empty(), "a network without parameters is trained");
  std::int64_t total = 0;
  for (const Weight& weight : parameters) {
    offsets_.push_back(total);
    const std::int64_t begin = total;
    total += (weight.tensor.numel() + 15) / 16 * 16;  // each begins at a cache line
    if (weight.is_frozen) continue;
    const Way way = way_of(weight);
    const bool continues = !pieces_.empty() && pieces_.back().end == begin && pieces_.back().way == way;
    if (continues)
      pieces_.back().end = total;
    else
      pieces_.push_back({begin, total, way});
  }
  for (const ParameterGroup& group : options.groups)
    if (std::ranges::none_of(parameters,
                             [&](const Weight& w) { return w.name.find(group.name) != std::string::npos; }))
      fail("optimizer.custom_cfg: no parameter has '{}' in its name", group.name);
  const at::NoGradGuard no_gradients;
  const at::TensorOptions floats = parameters[0].tensor.options().requires_grad(false);
  values_ = at::zeros({total}, floats);
  gradients_ = at::zeros({total}, floats);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    at::Tensor& parameter = parameters[i].tensor;
    at::Tensor place = part_of(values_, i);
    place.copy_(parameter);
    parameter.set_data(place);  // the same tensor for whoever holds it, now in that memory
    if (!parameters[i].is_frozen) parameter.mutable_grad() = part_of(gradients_, i);
  }
  if (options.opt == "sgd") {
    state_["velocity"] = at::zeros_like(values_);
  } else if (options.opt == "rmsprop") {
    state_["mean_square"] = at::zeros_like(values_);
    state_["momentum"] = at::zeros_like(values_);
  } else if (options.opt == "adamw" || options.opt == "adam") {
    state_["moment1"] = at::zeros_like(values_);
    state_["moment2"] = at::zeros_like(values_);
  } else {
    fail("unknown optimiser {}; there are sgd, rmsprop, adamw and adam", options.opt);
  }
}

at::Tensor Optimizer::part_of(const at::Tensor& flat, std::size_t parameter) const {
  const at::Tensor& like = parameters_[parameter].tensor;
  return flat.as_strided(like.sizes(), like.strides(), offsets_[parameter]);
}

Optimizer::Way Optimizer::way_of(const Weight& weight) const {
  if (weight.is_range) return {options_.quant.rate_factor, options_.quant.decay};
  for (const ParameterGroup& group : options_.groups)
    if (weight.name.find(group.name) != std::string::npos)
      return {group.lr_mult, options_.weight_decay * group.weight_decay_mult.value_or(1)};
  return {1, options_.weight_decay};
}

void Optimizer::step(double learning_rate) {
  ++steps_done;
  for (const Piece& piece : pieces_)
    step(piece.begin, piece.end, learning_rate * piece.way.rate, piece.way.decay);
}

void Optimizer::step(std::int64_t begin, std::int64_t end, double learning_rate, double decay) {
  const at::NoGradGuard no_gradients;
  const auto part = [&](const at::Tensor& flat) { return flat.slice(0, begin, end); };
  at::Tensor values = part(values_), gradient = part(gradients_);
  const bool is_adam = options_.opt == "adam";
  if (options_.opt == "adamw" || is_adam) {
    constexpr double kEpsilon = 1e-8;
    const auto t = static_cast<double>(steps_done);
    at::Tensor first = part(state_["moment1"]), second = part(state_["moment2"]);
    if (is_adam && decay != 0) gradient.add_(values, decay);
    if (!is_adam) values.mul_(1 - learning_rate * decay);
    first.lerp_(gradient, 1 - kBeta1);
    second.mul_(kBeta2).addcmul_(gradient, gradient, 1 - kBeta2);
    const double correction = std::sqrt(1 - std::pow(kBeta2, t));
    values.addcdiv_(first, (second.sqrt() / correction).add_(kEpsilon),
                    -learning_rate / (1 - std::pow(kBeta1, t)));
    return;
  }
  if (decay != 0) gradient.add_(values, decay);
  if (options_.opt == "sgd") {
    at::Tensor velocity = part(state_["velocity"]);
    velocity.mul_(options_.momentum).add_(gradient);
    values.sub_(velocity, learning_rate);
    return;
  }
  // rmsprop, as torchvision's recipes for mobile networks use it.
  constexpr double kAlpha = 0.9, kEpsilon = 0.0316;
  at::Tensor square = part(state_["mean_square"]), momentum = part(state_["momentum"]);
  square.mul_(kAlpha).addcmul_(gradient, gradient, 1 - kAlpha);
  momentum.mul_(options_.momentum).addcdiv_(gradient, square.sqrt().add_(kEpsilon));
  values.sub_(momentum, learning_rate);
}

}  // namespace octet::train
