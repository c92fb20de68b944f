#include "train/stepper.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "data/mix.h"
#include "train/convert.h"

namespace octet::train {

namespace {

std::vector<ValueId> trained_outputs(const Task& task, const Graph& graph) {
  return task.loss == Loss::kPixels ? graph.outputs : std::vector<ValueId>{graph.outputs.at(0)};
}

}  // namespace

double Stepper::Result::sum() const {
  return std::accumulate(losses.begin(), losses.end(), 0.0);
}

Stepper::Stepper(const TrainOptions& options, const Task& task, Network& network, Comm& comm,
                 LossOptions loss)
    : options_(options),
      task_(task),
      network_(network),
      comm_(comm),
      loss_(std::move(loss)),
      outputs_(trained_outputs(task, network.graph())),
      optimizer_(network.parameters(), options) {
  if (options.use_ema) ema_ = std::make_unique<Ema>(network, options.ema_decay);
  const bool is_scaled = network.precision.dtype == at::kHalf && network.precision.level != Amp::kOff;
  scale.scale = is_scaled ? LossScale::kInitial : 1;
}

void Stepper::start_exchange() {
  if (comm_.size() == 1) return;
  reducer_ = std::make_unique<Reducer>(network_.parameters(), optimizer_, comm_.duplicate());
  if (!options_.sync_bn) return;
  statistics_comm_ = comm_.duplicate();
  network_.sync = statistics_comm_.get();
}

std::vector<at::Tensor> Stepper::forward(const Tensor& pixels) {
  std::vector<at::Tensor> outputs = network_.forward({view_in_torch(pixels)}, outputs_);
  for (at::Tensor& output : outputs) {
    // Logits of pixels are large, and their loss reads bfloat16 as it is.
    const bool is_read =
        task_.loss == Loss::kPixels && output.is_cpu() && output.scalar_type() == at::kBFloat16;
    if (!is_read) output = output.to(at::kFloat);
  }
  return outputs;
}

Stepper::Result Stepper::run(Batch& batch, std::int64_t iteration, double learning_rate) {
  network_.step.number = iteration;
  if (iteration == begin_) optimizer_.clear_gradients();
  constexpr std::uint64_t kMixing = 0x6d6978;  // tells its numbers from those of others with the same keys
  const auto number = static_cast<std::uint64_t>(iteration), rank = static_cast<std::uint64_t>(comm_.rank());
  mix(batch, {.mixup = options_.mixup, .cutmix = options_.cutmix}, Random({options_.seed, kMixing, number}),
      Random({options_.seed, kMixing, number, rank}));
  last_pixels_ = batch.pixels;
  Result result;
  at::Tensor loss;
  {
    const std::vector<at::Tensor> outputs = forward(batch.pixels);
    result.scores = outputs[0].detach();
    for (const at::Tensor& part : losses_of(task_.loss, outputs, batch, loss_)) {
      result.losses.push_back(part.item<double>());
      loss = loss.defined() ? loss + part : part;
    }
  }
  if (!std::isfinite(result.sum())) return result;
  // Processes exchange the sum over all batches of the step.
  const bool exchanges = reducer_ && ends_with(iteration);
  if (exchanges) reducer_->start();
  const double factor = scale.scale / static_cast<double>(end_ - begin_);
  (factor == 1 ? loss : loss * factor).backward();
  if (exchanges) reducer_->finish();
  if (ends_with(iteration)) update(learning_rate);
  return result;
}

// A step of the optimiser, unless the scaled gradients are no numbers any more.
void Stepper::update(double learning_rate) {
  if (scale.scale != 1 || network_.precision.dtype == at::kHalf) {
    const at::NoGradGuard no_gradients;
    at::Tensor& gradients = optimizer_.gradients();
    gradients.mul_(1 / scale.scale);
    const bool finite = std::isfinite(gradients.sum().item<double>());
    scale.update(finite);
    if (!finite) return;
  }
  clip_gradients();
  optimizer_.step(learning_rate);
  if (ema_) ema_->update(optimizer_.steps_done);
}

void Stepper::clip_gradients() {
  const at::NoGradGuard no_gradients;
  at::Tensor& gradients = optimizer_.gradients();
  if (options_.clip_grad == "ClipGradByValue") {
    const double most = options_.clip_grad_max.value();
    gradients.clamp_(options_.clip_grad_min.value_or(-most), most);
    return;
  }
  if (options_.clip_grad_norm == 0) return;
  const auto clip = [&](at::Tensor part) {
    const double norm = part.norm().item<double>();
    if (norm > options_.clip_grad_norm) part.mul_(options_.clip_grad_norm / norm);
  };
  if (options_.clip_grad == "ClipGradByGlobalNorm") return clip(gradients);
  for (std::size_t i = 0; i < network_.parameters().size(); ++i) clip(optimizer_.part_of(gradients, i));
}

bool Stepper::is_sound() {
  const at::NoGradGuard no_gradients;
  const bool training = std::exchange(network_.training, false);
  const at::Tensor scores = network_.forward(view_in_torch(last_pixels_));
  network_.training = training;
  return at::isfinite(scores).all().item<bool>();
}

void Stepper::share_statistics() {
  if (comm_.size() == 1) return;
  const at::NoGradGuard no_gradients;
  std::vector<at::Tensor> statistics, parts;
  for (const Weight& statistic : network_.statistics()) statistics.push_back(statistic.tensor);
  if (ema_) std::ranges::move(ema_->statistics(), std::back_inserter(statistics));
  for (const at::Tensor& statistic : statistics) parts.push_back(statistic.to(at::kCPU).view({-1}));
  at::Tensor all = at::cat(parts);
  comm_.all_reduce(std::span<float>(all.data_ptr<float>(), static_cast<std::size_t>(all.numel())));
  all.div_(comm_.size());
  std::int64_t at = 0;
  for (at::Tensor& statistic : statistics) {
    const std::int64_t size = statistic.numel();
    statistic.copy_(all.slice(0, at, at + size).view(statistic.sizes()));
    at += size;
  }
}

}  // namespace octet::train
