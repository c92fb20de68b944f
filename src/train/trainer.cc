#include "train/trainer.h"

#include <chrono>
#include <cmath>
#include <cstdlib>

#include "base/file.h"
#include "base/threads.h"
#include "data/deploy_yaml.h"
#include "train/convert.h"
#include "train/device.h"
#include "train/evaluate.h"
#include "train/export.h"
#include "train/run_folder.h"
#include "train/schedule.h"
#include "train/segmentation_log.h"
#include "train/setup.h"
#include "train/stepper.h"
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

// The loop. A run is so many iterations (steps); an epoch is as many of them as the data has batches. It is
// evaluated and saved at the end of each epoch, or every so many iterations.
class Trainer {
 public:
  Trainer(const TrainOptions& options, Comm& comm, Reporter& reporter, const std::atomic<bool>& stop)
      : options_(options),
        task_(task_of(options)),
        by_iterations_(goes_by_iterations(options)),
        comm_(comm),
        reporter_(reporter),
        stop_(stop),
        device_(choose_device(options.device, comm, &reporter)),
        threads_(usable_threads(
            options.threads > 0 ? options.threads : std::max(default_threads() / local_size(comm), 1),
            reporter)),
        pool_(threads_),
        names_(names_of(options)),
        log_(options, task_, comm, reporter),
        folder_(options) {
    at::set_num_threads(threads_);
  }

  Outcome run() {
    data_ = open_data(options_, comm_, options_.workers >= 0 ? options_.workers : threads_);
    if (is_first())
      for (const std::string& note : data_.notes) reporter_.notice(note);
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
    log_.start_anew();
    while (iteration_ < total_ && !is_stale()) {
      if (!train_until(next_milestone())) return Outcome::kStopped;
      finish_milestone();
    }
    finish_run();
    return Outcome::kDone;
  }

 private:
  bool is_first() const { return comm_.rank() == 0; }
  std::int64_t epoch() const { return iteration_ / batches_; }
  std::int64_t iteration_of_epoch() const { return iteration_ % batches_; }
  std::int64_t end_of_epoch() const { return std::min((epoch() + 1) * batches_, total_); }

  // Where the network is saved, and evaluated, next.
  std::int64_t next_milestone() const {
    if (!by_iterations_) return end_of_epoch();
    const std::int64_t interval = options_.save_interval;
    return std::min((iteration_ / interval + 1) * interval, total_);
  }

  // Early stopping.
  bool is_stale() const {
    return options_.early_stop_intervals > 0 && since_best_ >= options_.early_stop_intervals;
  }

  // The names of the data's folders, if the network has a class for each and no others; else those of the
  // inference model that is trained.
  void name_classes() {
    const Shape& scores = network_->graph().value(network_->graph().outputs.at(0)).shape;
    classes_ = class_dimension(task_, scores);
    std::vector<std::string> names = data_.class_names;
    if (names.empty() && !options_.model_dir.empty()) names = load_class_names(options_.model_dir);
    if (std::ssize(names) == classes_) log_.class_names = names;
  }

  void prepare(const fs::path& checkpoint) {
    batches_ = data_.loader->batches();
    total_ = total_batches(options_, batches_);
    if (options_.quant.enabled && !network_->is_quantized()) start_quantization();
    network_->freeze(options_.freeze);
    stepper_ = std::make_unique<Stepper>(
        options_, task_, *network_, comm_,
        loss_options(options_, task_, data_.loader->dataset(), classes_ < 0 ? data_.classes : classes_,
                     network_->graph().outputs.size(), device_));
    if (!checkpoint.empty()) resume(checkpoint);
    if (options_.start_epoch >= 0) iteration_ = options_.start_epoch * batches_;
    stepper_->start_exchange();
    if (is_first()) folder_.prepare(log_.class_names);
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
    const Position position = load_optimizer(checkpoint, *network_, stepper_->optimizer(), names_);
    iteration_ = position.epoch * batches_ + std::min(position.iteration, batches_);
    best_ = position.best;
    best_iteration_ = position.best_iteration;
    since_best_ = position.since_best;
    LossScale& scale = stepper_->scale;
    scale.good_steps = position.good_steps;
    if (scale.scale > 1) scale.scale = position.loss_scale;
    folder_.continue_from(checkpoint, iteration_);
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

  // Whether batch norms keep their statistics from here on: in the last epochs, or iterations.
  bool are_statistics_frozen() const {
    if (!network_->is_quantized() || iteration_ == 0) return false;
    const double share = options_.quant.freeze_share;
    if (by_iterations_)
      return iteration_ >= total_ - static_cast<std::int64_t>(share * static_cast<double>(total_));
    const std::int64_t epochs = (total_ + batches_ - 1) / batches_;
    return epoch() > 0 && epoch() >= epochs - static_cast<std::int64_t>(share * static_cast<double>(epochs));
  }

  // False: someone asked to stop.
  bool train_until(std::int64_t end) {
    network_->training = true;
    data_.loader->start_epoch(epoch(), iteration_of_epoch());
    network_->freeze_statistics = are_statistics_frozen();
    if (!by_iterations_) log_.start_anew();
    Clock::time_point start = Clock::now();
    while (iteration_ < end) {
      if (stepper_->is_over(iteration_)) begin_step(end);
      std::optional<Batch> batch = data_.loader->next();
      check(batch.has_value(), "an epoch has fewer batches than its loader says");
      const TrainingLog::Place place{epoch(), iteration_of_epoch(), iteration_, total_};
      for (const std::string& message : batch->broken) reporter_.warning(message + "; skipped");
      if (place.iteration == 0) log_.pictures(*batch, place.epoch);
      const double reader_seconds = seconds_since(start);
      const double rate = learning_rate(options_, iteration_, batches_);
      const Stepper::Result result = stepper_->run(*batch, iteration_, rate);
      if (!std::isfinite(result.sum())) stop_here(fmt::format("the loss is {}", result.sum()));
      if (log_.counts_answers()) log_.add(from_torch(result.scores), *batch);
      log_.add({.losses = result.losses,
                .samples = batch->size(),
                .reader_seconds = reader_seconds,
                .seconds = seconds_since(start)});
      start = Clock::now();
      if (log_.is_due(place)) {
        log_.print(place, rate);
        start = Clock::now();
      }
      const bool stops = should_stop() && stepper_->ends_with(iteration_);
      if ((stops || iteration_ + 1 == end) && !stepper_->is_sound())
        stop_here("the network's scores are no finite numbers");
      ++iteration_;
      if (stops) {
        save_stopped(place);
        return false;
      }
      if (iteration_of_epoch() == 0 && iteration_ < end) {
        data_.loader->start_epoch(epoch());
        network_->freeze_statistics = are_statistics_frozen();
      }
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
  void begin_step(std::int64_t milestone) {
    const std::int64_t accumulate = options_.accumulate;
    stepper_->begin(iteration_, std::min({iteration_ + accumulate - iteration_of_epoch() % accumulate,
                                          end_of_epoch(), milestone}));
  }

  void save_stopped(const TrainingLog::Place& place) {
    if (!is_first()) return;
    const Ema::Use averages(stepper_->ema());
    folder_.save_stopped(state(), position());
    if (by_iterations_)
      log_.say(fmt::format("stopped at iter {}: {} is saved; go on with {}", place.number + 1,
                           folder_.last().parent_path().string(), folder_.how_to_resume()));
    else
      log_.say(fmt::format("stopped at epoch {}, iteration {}: latest.* is saved; go on with {}", place.epoch,
                           place.iteration + 1, folder_.how_to_resume()));
  }

  // Training has gone wrong; what is saved stays.
  [[noreturn]] void stop_here(const std::string& what) const {
    const fs::path latest = fs::path(options_.output_dir) / "latest.pdparams";
    const fs::path last = !by_iterations_ && fs::exists(latest) ? latest : folder_.last();
    const std::string where = by_iterations_
                                  ? fmt::format("iter {}", iteration_ + 1)
                                  : fmt::format("epoch {}, iteration {}", epoch(), iteration_of_epoch());
    fail("{} at {}; {}. Try a smaller --lr, or a {}", what, where,
         last.empty() ? "there is no checkpoint yet" : "the last good checkpoint is " + last.string(),
         by_iterations_ ? "warm-up (lr_scheduler.warmup_iters)" : "--warmup-epochs");
  }

  // The end of an epoch, or so many iterations.
  void finish_milestone() {
    const std::int64_t at = by_iterations_ ? iteration_ : (iteration_ - 1) / batches_;
    stepper_->share_statistics();
    bool is_better = false;
    if (evaluates()) {
      Evaluation evaluation = evaluate();
      log_.evaluated(evaluation, at);
      const double result = evaluation.metric->rows().at(0).value;
      is_better = evaluation.metric->better(result, best_);
      if (is_better) {
        best_ = result;
        best_iteration_ = iteration_;
      }
      if (options_.early_stop_intervals > 0) since_best_ = is_better ? 0 : since_best_ + 1;
      if (is_better || !has_best_answers_) {
        answers_ = std::move(evaluation.confusion);
        answers_epoch_ = at;
        has_best_answers_ = is_better;
      }
    }
    if (is_first()) {
      const Ema::Use averages(stepper_->ema());
      folder_.save(state(), position(), is_better);
    }
    if (by_iterations_ && evaluates()) log_.say(best_line(best_, best_iteration_));
    if (is_stale() && iteration_ < total_)
      log_.say(fmt::format("stopped early: no better result than {:.4f} in {} {}", best_, since_best_,
                           by_iterations_ ? "evaluations" : "epochs"));
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
    if (by_iterations_) return;  // whoever wants a model exports a checkpoint
    const Ema::Use averages(stepper_->ema());
    if (network_->is_quantized() && is_first())
      log_.say(fmt::format("wrote {} and .pdiparams",
                           export_quantized(*network_, task_, options_.output_dir).string()));
  }

  bool evaluates() const { return !by_iterations_ || options_.do_eval; }

  Evaluation evaluate() {
    const Ema::Use averages(stepper_ ? stepper_->ema() : nullptr);
    const bool is_new = options_.paddleseg == PaddleSeg::k2_9;
    const EvaluateOptions options{
        .task = task_,
        .metric = {.classes = std::max<std::int64_t>(classes_, 0), .absent_iou = is_new ? 1.0 : 0.0},
        .classes = std::max<std::int64_t>(classes_, 0),
        .batch_size = std::min(options_.batch_size, 64),
        .workers = std::max(options_.workers >= 0 ? options_.workers : threads_, 1),
        .segment = options_.test,
        .summands = is_new ? Summands::kScores : Summands::kProbabilities,
        .comm = &comm_,
        .reporter = is_first() ? &reporter_ : nullptr};
    const Transforms& transforms = options_.val_transforms;
    log_.evaluating(static_cast<std::int64_t>(data_.validation.entries.size()));
    if (device_.is_cuda()) return train::evaluate(*network_, data_.validation, transforms, options);
    Graph graph = network_->deployed();
    graph.outputs.resize(1);  // auxiliary heads are for training
    return train::evaluate(graph, data_.validation, transforms, options, pool_);
  }

  RunFolder::State state() {
    Ema* ema = stepper_->ema();
    return {*network_, stepper_->optimizer(), names_, ema ? ema->others() : std::vector<Weight>()};
  }

  Position position() const {
    return {.epoch = epoch(),
            .iteration = iteration_of_epoch(),
            .done = iteration_,
            .epoch_done = (iteration_ - 1) / batches_,
            .best = best_,
            .best_iteration = best_iteration_,
            .learning_rate = learning_rate(options_, iteration_, batches_),
            .loss_scale = stepper_->scale.scale,
            .good_steps = stepper_->scale.good_steps,
            .since_best = since_best_};
  }

  const TrainOptions& options_;
  const Task& task_;
  const bool by_iterations_;
  Comm& comm_;
  Reporter& reporter_;
  const std::atomic<bool>& stop_;
  const at::Device device_;
  const int threads_;
  ThreadPool pool_;  // of octet's runtime
  const CheckpointNames names_;
  TrainingLog log_;
  RunFolder folder_;

  TrainingData data_;
  std::unique_ptr<Network> network_;
  std::unique_ptr<Stepper> stepper_;
  std::int64_t batches_ = 0;                // of an epoch
  std::int64_t iteration_ = 0, total_ = 0;  // done, and to do, counted over all epochs
  std::int64_t classes_ = 0;                // of the network; kUnknown: it does not say
  double best_ = -1;                        // of the metric so far; -1: none yet
  std::int64_t best_iteration_ = 0;         // and after how many iterations
  int since_best_ = 0;                      // evaluations, where the run ends after so many
  Confusion answers_;                       // of the best evaluation of this run, else of the last one
  std::int64_t answers_epoch_ = 0;
  bool has_best_answers_ = false;
};

}  // namespace

Outcome train(const TrainOptions& options, Comm& comm, Reporter& reporter, const std::atomic<bool>& stop) {
  return Trainer(options, comm, reporter, stop).run();
}

}  // namespace octet::train
