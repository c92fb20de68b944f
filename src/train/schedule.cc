#include "train/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace octet::train {

namespace {

std::int64_t divide_up(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

}  // namespace

double learning_rate(const TrainOptions& options, std::int64_t batch, std::int64_t epoch_batches) {
  const std::int64_t group = options.accumulate;
  const std::int64_t epoch = epoch_batches > 0 ? batch / epoch_batches : 0;
  const std::int64_t epoch_steps = divide_up(epoch_batches, group);
  const double warm_up = options.warmup_iters > 0
                             ? static_cast<double>(options.warmup_iters) / static_cast<double>(group)
                             : options.warmup_epochs * static_cast<double>(epoch_steps);
  const auto at = static_cast<double>(epoch * epoch_steps + (batch - epoch * epoch_batches) / group);
  if (at < warm_up && options.warmup_iters > 0)  // as Paddle's LinearWarmup
    return options.warmup_start_lr + (options.lr - options.warmup_start_lr) * at / warm_up;
  if (at < warm_up) return options.lr * (at + 1) / warm_up;
  if (options.lr_schedule == "constant") return options.lr;
  if (options.lr_schedule == "step_iters")
    return options.lr * std::pow(options.lr_gamma, std::floor((at - warm_up) / options.lr_step_size));
  if (options.lr_schedule == "piecewise") {
    const auto next = std::ranges::find_if(options.lr_boundaries, [&](int b) { return at - warm_up < b; });
    return options.lr_values.at(static_cast<std::size_t>(next - options.lr_boundaries.begin()));
  }
  const auto end =
      static_cast<double>(options.iters > 0 ? divide_up(options.iters, group) : options.epochs * epoch_steps);
  // Of the way, in [0, 1]: a run may be told of fewer steps than it has done.
  const double done = end > warm_up ? std::min((at - warm_up) / (end - warm_up), 1.0) : 0;
  if (options.lr_schedule == "cosine") return options.lr * 0.5 * (1 + std::cos(std::numbers::pi * done));
  if (options.lr_schedule == "poly")
    return (options.lr - options.lr_end) * std::pow(1 - done, options.lr_power) + options.lr_end;
  return options.lr * std::pow(options.lr_gamma, static_cast<double>(epoch / options.lr_step_size));
}

std::int64_t total_batches(const TrainOptions& options, std::int64_t epoch_batches) {
  return options.iters > 0 ? options.iters : options.epochs * epoch_batches;
}

}  // namespace octet::train
