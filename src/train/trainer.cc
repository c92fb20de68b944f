#include "train/trainer.h"

#include <chrono>
#include <cmath>
#include <cstdlib>

#include "base/threads.h"
#include "train/convert.h"
#include "train/device.h"
#include "train/evaluate.h"
#include "train/export.h"
#include "train/loss.h"
#include "train/loss_scale.h"
#include "train/reducer.h"
#include "train/run_folder.h"
#include "train/schedule.h"
#include "train/setup.h"
#include "train/training_log.h"

namespace octet::train {

namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Processes of this machine.
int local_size(const Comm& comm) {
  const char* size = std::getenv("OMPI_COMM_WORLD_LOCAL_SIZE");
  return size ? std::max(std::atoi(size), 1) : comm.size();
}

// The loop. A run is so many iterations (steps); an epoch is as many of them as the data has batches, and
// ends with an evaluation and a checkpoint.
class Trainer {
 public:
  Trainer(const TrainOptions& options, Comm& comm, Reporter& reporter, const std::atomic<bool>& stop)
      : options_(options),
        comm_(comm),
        reporter_(reporter),
        stop_(stop),
        device_(choose_device(options.device, comm, &reporter)),
        threads_(options.threads > 0 ? options.threads : std::max(default_threads() / local_size(comm), 1)),
        pool_(threads_),
        names_(names_of(options)),
        log_(options, task_, comm, reporter) {
    at::set_num_threads(threads_);
  }

  Outcome run() {
    data_ = open_data(options_, comm_, options_.workers >= 0 ? options_.workers : threads_);
    Start start = build_network(options_, data_.classes, device_, comm_, names_, reporter_);
    network_ = std::move(start.network);
    if (options_.test_only) {
      log_.evaluated(*evaluate(), 0);
      return Outcome::kDone;
    }
    prepare(start.checkpoint);
    if (iteration_ >= total_) log_.say(nothing_to_do());
    if (should_stop()) return Outcome::kStopped;
    while (iteration_ < total_) {
      if (!train_epoch()) return Outcome::kStopped;
      finish_epoch();
    }
    if (network_->is_quantized() && is_first())
      log_.say(
          fmt::format("wrote {} and .pdiparams", export_quantized(*network_, options_.output_dir).string()));
    return Outcome::kDone;
  }

 private:
  bool is_first() const { return comm_.rank() == 0; }
  std::int64_t epoch() const { return iteration_ / batches_; }
  std::int64_t iteration_of_epoch() const { return iteration_ % batches_; }

  void prepare(const fs::path& checkpoint) {
    batches_ = data_.loader->batches();
    total_ = total_steps(options_, batches_);
    if (options_.quant.enabled && !network_->is_quantized()) start_quantization();
    optimizer_ = std::make_unique<Optimizer>(network_->parameters(), options_);
    scale_.scale = network_->precision.dtype == at::kHalf && network_->precision.level != Amp::kOff
                       ? LossScale::kInitial
                       : 1;
    if (!checkpoint.empty()) resume(checkpoint);
    if (options_.start_epoch >= 0) iteration_ = options_.start_epoch * batches_;
    if (comm_.size() > 1) {
      reducer_ = std::make_unique<Reducer>(network_->parameters(), *optimizer_, comm_.duplicate());
      if (options_.sync_bn) {
        statistics_comm_ = comm_.duplicate();
        network_->sync = statistics_comm_.get();
      }
    }
    if (is_first()) prepare_run_folder(options_);
    log_.start_curves();
  }

  // Learned ranges begin with what the first batch shows. A network that was not trained before has no
  // statistics yet, so it is looked at in training mode.
  void start_quantization() {
    data_.loader->start_epoch(0);
    const std::optional<Batch> batch = data_.loader->next();
    check(batch.has_value(), "a loader has no first batch");
    network_->training = options_.pretrained.empty() && options_.model_dir.empty();
    network_->quantize(options_.quant, view_in_torch(batch->pixels));
  }

  void resume(const fs::path& checkpoint) {
    const Position position = load_optimizer(checkpoint, *network_, *optimizer_, names_);
    iteration_ = position.epoch * batches_ + std::min(position.iteration, batches_);
    best_ = position.best;
    scale_.good_steps = position.good_steps;
    if (scale_.scale > 1) scale_.scale = position.loss_scale;
    log_.say(fmt::format("resuming from {} at epoch {}, iteration {}", checkpoint.string(), position.epoch,
                         position.iteration));
  }

  std::string nothing_to_do() const {
    if (options_.iters > 0)
      return fmt::format("nothing to do: {} iterations are done, and --iters is {}", iteration_, total_);
    return fmt::format("nothing to do: {} epochs are done, and --epochs is {}", epoch(), options_.epochs);
  }

  // To the end of the epoch or of the run. False: someone asked to stop.
  bool train_epoch() {
    network_->training = true;
    const std::int64_t epochs = (total_ + batches_ - 1) / batches_;
    const auto frozen = static_cast<std::int64_t>(options_.quant.freeze_share * static_cast<double>(epochs));
    network_->freeze_statistics = network_->is_quantized() && epoch() > 0 && epoch() >= epochs - frozen;
    data_.loader->start_epoch(epoch(), iteration_of_epoch());
    const std::int64_t end = std::min((epoch() + 1) * batches_, total_);
    log_.start_anew();
    Clock::time_point start = Clock::now();
    while (iteration_ < end) {
      const std::optional<Batch> batch = data_.loader->next();
      check(batch.has_value(), "an epoch has fewer batches than its loader says");
      const TrainingLog::Place place{epoch(), iteration_of_epoch(), iteration_};
      for (const std::string& message : batch->broken) reporter_.warning(message + "; skipped");
      if (place.iteration == 0) log_.pictures(*batch, place.epoch);
      const double reader_seconds = seconds_since(start);
      const double rate = learning_rate(options_, iteration_, batches_);
      TrainingLog::Step done = step(*batch, rate);
      done.reader_seconds = reader_seconds;
      done.seconds = seconds_since(start);
      start = Clock::now();
      log_.add(done);
      if (log_.is_due(place)) {
        log_.print(place, rate);
        start = Clock::now();
      }
      const bool stops = should_stop();
      if (stops || iteration_ + 1 == end) check_weights();
      ++iteration_;
      if (!stops) continue;
      save({"latest"});
      log_.say(fmt::format("stopped at epoch {}, iteration {}: latest.* is saved; go on with --resume {}",
                           place.epoch, place.iteration + 1, options_.output_dir));
      return false;
    }
    return true;
  }

  // In one process or in all.
  bool should_stop() {
    double asked = stop_ ? 1 : 0;
    if (comm_.size() > 1) comm_.all_reduce(std::span<double>(&asked, 1));
    return asked != 0;
  }

  TrainingLog::Step step(const Batch& batch, double rate) {
    network_->step.number = iteration_;
    optimizer_->clear_gradients();
    last_pixels_ = batch.pixels;
    const at::Tensor scores = network_->forward(view_in_torch(batch.pixels)).to(at::kFloat);
    const at::Tensor loss = loss_of(task_.loss, scores, batch, {.label_smoothing = options_.label_smoothing});
    const double value = loss.item<double>();
    if (!std::isfinite(value)) stop_here(fmt::format("the loss is {}", value));
    if (reducer_) reducer_->start();
    (scale_.scale == 1 ? loss : loss * scale_.scale).backward();
    if (reducer_) reducer_->finish();
    update(rate);

    log_.add(from_torch(scores.detach()), batch);
    return {.loss = value * static_cast<double>(batch.size()), .samples = batch.size()};
  }

  // A step of the optimiser, unless the scaled gradients are no numbers any more.
  void update(double rate) {
    if (scale_.scale != 1 || network_->precision.dtype == at::kHalf) {
      const at::NoGradGuard no_gradients;
      at::Tensor& gradients = optimizer_->gradients();
      gradients.mul_(1 / scale_.scale);
      const bool finite = std::isfinite(gradients.sum().item<double>());
      scale_.update(finite);
      if (!finite) return;
    }
    optimizer_->step(rate);
  }

  // The step before a checkpoint may be the bad one: weights that are out of bounds are not saved.
  void check_weights() {
    const at::NoGradGuard no_gradients;
    const bool training = std::exchange(network_->training, false);
    const at::Tensor scores = network_->forward(view_in_torch(last_pixels_));
    network_->training = training;
    if (!at::isfinite(scores).all().item<bool>()) stop_here("the network's scores are no finite numbers");
  }

  // Training has gone wrong; what is saved stays.
  [[noreturn]] void stop_here(const std::string& what) const {
    const fs::path latest = fs::path(options_.output_dir) / "latest.pdparams";
    fail(
        "{} at epoch {}, iteration {}; {}. Try a smaller --lr, or a --warmup-epochs", what, epoch(),
        iteration_of_epoch(),
        fs::exists(latest) ? "the last good checkpoint is " + latest.string() : "there is no checkpoint yet");
  }

  void finish_epoch() {
    const std::int64_t finished = (iteration_ - 1) / batches_;
    share_statistics();
    const std::unique_ptr<Metric> metric = evaluate();
    log_.evaluated(*metric, finished);
    const double result = metric->rows().at(0).value;
    std::vector<std::string> stems = {fmt::format("model_{}", finished), "latest"};
    if (metric->better(result, best_)) {
      stems.push_back("best");
      best_ = result;
    }
    save(stems);
  }

  // Processes see other data, so their statistics differ a little; they go on with the mean.
  void share_statistics() {
    if (comm_.size() == 1) return;
    const at::NoGradGuard no_gradients;
    std::vector<at::Tensor> parts;
    for (const Weight& statistic : network_->statistics())
      parts.push_back(statistic.tensor.to(at::kCPU).view({-1}));
    at::Tensor all = at::cat(parts);
    comm_.all_reduce(std::span<float>(all.data_ptr<float>(), static_cast<std::size_t>(all.numel())));
    all.div_(comm_.size());
    std::int64_t at = 0;
    for (Weight& statistic : network_->statistics()) {
      const std::int64_t size = statistic.tensor.numel();
      statistic.tensor.copy_(all.slice(0, at, at + size).view(statistic.tensor.sizes()));
      at += size;
    }
  }

  std::unique_ptr<Metric> evaluate() {
    const EvaluateOptions options{.task = task_,
                                  .batch_size = std::min(options_.batch_size, 64),
                                  .workers = std::max(options_.workers >= 0 ? options_.workers : threads_, 1),
                                  .comm = &comm_,
                                  .reporter = is_first() ? &reporter_ : nullptr};
    const Transforms& transforms = options_.val_transforms;
    if (device_.is_cuda()) return train::evaluate(*network_, data_.validation, transforms, options);
    return train::evaluate(network_->deployed(), data_.validation, transforms, options, pool_);
  }

  void save(const std::vector<std::string>& stems) {
    if (!is_first()) return;
    save_checkpoint(options_.output_dir, stems, *network_, *optimizer_,
                    {.epoch = epoch(),
                     .iteration = iteration_of_epoch(),
                     .best = best_,
                     .learning_rate = learning_rate(options_, iteration_, batches_),
                     .loss_scale = scale_.scale,
                     .good_steps = scale_.good_steps},
                    names_);
  }

  const TrainOptions& options_;
  const Task& task_ = default_task();
  Comm& comm_;
  Reporter& reporter_;
  const std::atomic<bool>& stop_;
  const at::Device device_;
  const int threads_;
  ThreadPool pool_;  // of octet's runtime
  const CheckpointNames names_;
  TrainingLog log_;

  TrainingData data_;
  std::unique_ptr<Network> network_;
  std::unique_ptr<Optimizer> optimizer_;
  std::unique_ptr<Comm> statistics_comm_;
  std::unique_ptr<Reducer> reducer_;
  Tensor last_pixels_;  // of the last step
  LossScale scale_;
  std::int64_t batches_ = 0;                // of an epoch
  std::int64_t iteration_ = 0, total_ = 0;  // done, and to do, counted over all epochs
  double best_ = -1;                        // of the metric so far; -1: none yet
};

}  // namespace

Outcome train(const TrainOptions& options, Comm& comm, Reporter& reporter, const std::atomic<bool>& stop) {
  return Trainer(options, comm, reporter, stop).run();
}

}  // namespace octet::train
