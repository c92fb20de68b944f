#include "train/trainer.h"

#include <chrono>
#include <cmath>
#include <cstdlib>

#include "base/file.h"
#include "base/threads.h"
#include "data/deploy_yaml.h"
#include "data/mix.h"
#include "train/convert.h"
#include "train/device.h"
#include "train/ema.h"
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
    name_classes();
    if (options_.test_only) {
      const Evaluation result = evaluate();
      log_.evaluated(result, 0);
      if (options_.per_class && result.confusion.classes() > 0)
        log_.per_class(result.confusion, "per class:");
      return Outcome::kDone;
    }
    prepare(start.checkpoint);
    if (iteration_ >= total_ || is_stale()) log_.say(nothing_to_do());
    if (should_stop()) return Outcome::kStopped;
    while (iteration_ < total_ && !is_stale()) {
      if (!train_epoch()) return Outcome::kStopped;
      finish_epoch();
    }
    finish_run();
    return Outcome::kDone;
  }

 private:
  bool is_first() const { return comm_.rank() == 0; }
  std::int64_t epoch() const { return iteration_ / batches_; }
  std::int64_t iteration_of_epoch() const { return iteration_ % batches_; }

  // Early stopping.
  bool is_stale() const {
    return options_.early_stop_intervals > 0 && since_best_ >= options_.early_stop_intervals;
  }

  // The names of the data's folders, if the network has a class for each and no others; else those of the
  // inference model that is trained.
  void name_classes() {
    const Shape& scores = network_->graph().value(network_->graph().outputs.at(0)).shape;
    classes_ = scores.empty() ? kUnknown : scores.back();
    std::vector<std::string> names = data_.class_names;
    if (names.empty() && !options_.model_dir.empty()) names = load_class_names(options_.model_dir);
    if (std::ssize(names) == classes_) log_.class_names = names;
  }

  void prepare(const fs::path& checkpoint) {
    batches_ = data_.loader->batches();
    total_ = total_batches(options_, batches_);
    if (options_.quant.enabled && !network_->is_quantized()) start_quantization();
    network_->freeze(options_.freeze);
    loss_.class_weights =
        class_weights_of(options_, data_.loader->dataset(), classes_ < 0 ? data_.classes : classes_);
    if (loss_.class_weights.defined()) loss_.class_weights = loss_.class_weights.to(device_);
    optimizer_ = std::make_unique<Optimizer>(network_->parameters(), options_);
    if (options_.use_ema) ema_ = std::make_unique<Ema>(*network_, options_.ema_decay);
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
    if (is_first()) prepare_run_folder(options_, log_.class_names);
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
    since_best_ = position.since_best;
    scale_.good_steps = position.good_steps;
    if (scale_.scale > 1) scale_.scale = position.loss_scale;
    log_.say(fmt::format("resuming from {} at epoch {}, iteration {}", checkpoint.string(), position.epoch,
                         position.iteration));
  }

  std::string nothing_to_do() const {
    if (iteration_ < total_)
      return fmt::format(
          "nothing to do: there was no better result in {} epochs, and --early-stop-intervals is {}",
          since_best_, options_.early_stop_intervals);
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
      if (iteration_ >= step_end_) begin_step(end);
      std::optional<Batch> batch = data_.loader->next();
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
      const bool stops = should_stop() && ends_step();
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

  // The optimiser's next step takes the batches from here on.
  void begin_step(std::int64_t epoch_end) {
    const std::int64_t accumulate = options_.accumulate;
    step_begin_ = iteration_;
    step_end_ = std::min(iteration_ + accumulate - iteration_of_epoch() % accumulate, epoch_end);
  }
  bool ends_step() const { return iteration_ + 1 == step_end_; }

  TrainingLog::Step step(Batch& batch, double rate) {
    network_->step.number = iteration_;
    if (iteration_ == step_begin_) optimizer_->clear_gradients();
    constexpr std::uint64_t kMixing = 0x6d6978;  // tells its numbers from those of others with the same keys
    const auto number = static_cast<std::uint64_t>(iteration_),
               rank = static_cast<std::uint64_t>(comm_.rank());
    mix(batch, {.mixup = options_.mixup, .cutmix = options_.cutmix}, Random({options_.seed, kMixing, number}),
        Random({options_.seed, kMixing, number, rank}));
    last_pixels_ = batch.pixels;
    const at::Tensor scores = network_->forward(view_in_torch(batch.pixels)).to(at::kFloat);
    const at::Tensor loss = losses_of(task_.loss, {scores}, batch, loss_).at(0);
    const double value = loss.item<double>();
    if (!std::isfinite(value)) stop_here(fmt::format("the loss is {}", value));
    // Processes exchange the sum over all batches of the step.
    const bool exchanges = reducer_ && ends_step();
    if (exchanges) reducer_->start();
    const double factor = scale_.scale / static_cast<double>(step_end_ - step_begin_);
    (factor == 1 ? loss : loss * factor).backward();
    if (exchanges) reducer_->finish();
    if (ends_step()) update(rate);

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
    clip_gradients();
    optimizer_->step(rate);
    if (ema_) ema_->update(optimizer_->steps_done);
  }

  void clip_gradients() {
    if (options_.clip_grad_norm == 0) return;
    const at::NoGradGuard no_gradients;
    at::Tensor& gradients = optimizer_->gradients();
    const double norm = gradients.norm().item<double>();
    if (norm > options_.clip_grad_norm) gradients.mul_(options_.clip_grad_norm / norm);
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
    Evaluation evaluation = evaluate();
    log_.evaluated(evaluation, finished);
    const double result = evaluation.metric->rows().at(0).value;
    std::vector<std::string> stems = {fmt::format("model_{}", finished), "latest"};
    const bool is_better = evaluation.metric->better(result, best_);
    if (is_better) {
      stems.push_back("best");
      best_ = result;
    }
    if (options_.early_stop_intervals > 0) since_best_ = is_better ? 0 : since_best_ + 1;
    if (is_better || !has_best_answers_) {
      answers_ = std::move(evaluation.confusion);
      answers_epoch_ = finished;
      has_best_answers_ = is_better;
    }
    save(stems);
    if (is_stale() && iteration_ < total_)
      log_.say(fmt::format("stopped early: no better result than {:.4f} in {} epochs", best_, since_best_));
  }

  // What is told and written when all is trained.
  void finish_run() {
    constexpr std::int64_t kWorst = 10;
    if (answers_.classes() > 0 && is_first()) {
      if (answers_.classes() <= kMaxColumns)
        log_.per_class(answers_, fmt::format("per class, at epoch {}:", answers_epoch_));
      else
        log_.per_class(answers_, fmt::format("the worst classes at epoch {}:", answers_epoch_), kWorst);
      save_file(fs::path(options_.output_dir) / "confusion_matrix.png",
                encode_png(confusion_picture(answers_)));
    }
    const Ema::Use averages(ema_.get());
    if (network_->is_quantized() && is_first())
      log_.say(
          fmt::format("wrote {} and .pdiparams", export_quantized(*network_, options_.output_dir).string()));
  }

  // Processes see other data, so their statistics differ a little; they go on with the mean.
  void share_statistics() {
    if (comm_.size() == 1) return;
    const at::NoGradGuard no_gradients;
    std::vector<at::Tensor> statistics, parts;
    for (const Weight& statistic : network_->statistics()) statistics.push_back(statistic.tensor);
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

  Evaluation evaluate() {
    const Ema::Use averages(ema_.get());
    const EvaluateOptions options{.task = task_,
                                  .classes = std::max<std::int64_t>(classes_, 0),
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
    const Ema::Use averages(ema_.get());
    save_checkpoint(options_.output_dir, stems, *network_, *optimizer_,
                    {.epoch = epoch(),
                     .iteration = iteration_of_epoch(),
                     .best = best_,
                     .learning_rate = learning_rate(options_, iteration_, batches_),
                     .loss_scale = scale_.scale,
                     .good_steps = scale_.good_steps,
                     .since_best = since_best_},
                    names_, ema_ ? ema_->others() : std::vector<Weight>());
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
  std::unique_ptr<Ema> ema_;
  LossOptions loss_ = {.label_smoothing = options_.label_smoothing};
  std::unique_ptr<Comm> statistics_comm_;
  std::unique_ptr<Reducer> reducer_;
  Tensor last_pixels_;  // of the last step
  LossScale scale_;
  std::int64_t batches_ = 0;                    // of an epoch
  std::int64_t iteration_ = 0, total_ = 0;      // done, and to do, counted over all epochs
  std::int64_t step_begin_ = 0, step_end_ = 0;  // the batches of the optimiser's step
  std::int64_t classes_ = 0;                    // of the network; kUnknown: it does not say
  double best_ = -1;                            // of the metric so far; -1: none yet
  int since_best_ = 0;                          // evaluations, where the run ends after so many
  Confusion answers_;                           // of the best evaluation of this run, else of the last one
  std::int64_t answers_epoch_ = 0;
  bool has_best_answers_ = false;
};

}  // namespace

Outcome train(const TrainOptions& options, Comm& comm, Reporter& reporter, const std::atomic<bool>& stop) {
  return Trainer(options, comm, reporter, stop).run();
}

}  // namespace octet::train
