#include "train/trainer.h"

#include <chrono>
#include <cmath>
#include <csignal>
#include <filesystem>

#include "base/file.h"
#include "base/threads.h"
#include "data/deploy_yaml.h"
#include "data/loader.h"
#include "formats/paddle/model_io.h"
#include "graph/op_table.h"
#include "models/inference.h"
#include "models/inference_model.h"
#include "models/models.h"
#include "models/names.h"
#include "report/visualdl.h"
#include "train/checkpoint.h"
#include "train/convert.h"
#include "train/device.h"
#include "train/evaluate.h"
#include "train/reducer.h"
#include "train/schedule.h"

namespace octet::train {

namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

// The signal that asks the run to end; 0: none.
volatile std::sig_atomic_t stop_signal = 0;

void ask_to_stop(int signal) {
  stop_signal = signal;
  std::signal(signal, SIG_DFL);  // the second time it ends at once
}

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Means since the last line of the log.
struct Window {
  double loss = 0, top1 = 0, top5 = 0;  // sums over samples
  double reader = 0, batch = 0;         // seconds
  std::int64_t samples = 0, steps = 0;
};

// Grows while gradients stay finite, shrinks when they do not: float16 has no small numbers to spare.
struct LossScale {
  static constexpr double kInitial = 1024;
  static constexpr int kGrowAfter = 1000;
  double scale = 1;
  int good_steps = 0;

  void update(bool finite) {
    if (!finite) {
      scale = std::max(scale / 2, 1.0);
      good_steps = 0;
    } else if (++good_steps == kGrowAfter) {
      scale = std::min(scale * 2, 65536.0);
      good_steps = 0;
    }
  }
};

class Trainer {
 public:
  Trainer(const TrainOptions& options, Comm& comm)
      : options_(options),
        comm_(comm),
        device_(choose_device(options.device, comm)),
        threads_(options.threads > 0 ? options.threads : std::max(default_threads() / local_size(), 1)),
        pool_(threads_),
        names_{options.model_dir.empty() ? options.model : "", options.names} {
    at::set_num_threads(threads_);
  }

  int run() {
    open_data();
    build();
    if (options_.test_only) {
      report(evaluate());
      return 0;
    }
    if (options_.quant.enabled && !network_->is_quantized()) start_quantization();
    optimizer_ = std::make_unique<Optimizer>(network_->parameters(), options_);
    scale_.scale = network_->precision.dtype == at::kHalf && network_->precision.level != Amp::kOff
                       ? LossScale::kInitial
                       : 1;
    if (!options_.resume.empty()) resume();
    if (options_.start_epoch >= 0) position_ = {.epoch = options_.start_epoch, .best = position_.best};
    if (comm_.size() > 1) {
      reducer_ = std::make_unique<Reducer>(network_->parameters(), *optimizer_, comm_.duplicate());
      if (options_.sync_bn) {
        statistics_comm_ = comm_.duplicate();
        network_->sync = statistics_comm_.get();
      }
    }
    prepare_output();
    if (position_.epoch >= options_.epochs)
      say("nothing to do: {} epochs are done, and --epochs is {}", position_.epoch, options_.epochs);
    if (options_.use_vdl && is_first())
      log_ = std::make_unique<VisualDLWriter>(options_.output_dir, options_.resume.empty()
                                                                       ? VisualDLWriter::Mode::kNew
                                                                       : VisualDLWriter::Mode::kContinue);
    std::signal(SIGINT, ask_to_stop);
    std::signal(SIGTERM, ask_to_stop);
    while (position_.epoch < options_.epochs) {
      if (!train_epoch()) return 128 + stop_signal;
      share_statistics();
      const Accuracy result = evaluate();
      const double accuracy = report(result);
      if (log_) {
        log_->add_scalar("eval/top1", position_.epoch, result.acc1());
        log_->add_scalar("eval/top5", position_.epoch, result.acc5());
      }
      const bool is_best = accuracy > position_.best;
      position_.best = std::max(position_.best, accuracy);
      std::vector<std::string> stems = {fmt::format("model_{}", position_.epoch), "latest"};
      if (is_best) stems.push_back("best");
      ++position_.epoch;
      position_.iteration = 0;
      save(stems);
    }
    if (network_->is_quantized()) export_quantized();
    return 0;
  }

 private:
  bool is_first() const { return comm_.rank() == 0; }

  template <class... Args>
  void say(fmt::format_string<Args...> format, Args&&... args) const {
    if (!is_first()) return;
    fmt::print(format, std::forward<Args>(args)...);
    fmt::print("\n");
    std::fflush(stdout);
  }
  template <class... Args>
  void warn(fmt::format_string<Args...> format, Args&&... args) const {
    fmt::print(stderr, "octet: warning: {}\n", fmt::format(format, std::forward<Args>(args)...));
  }

  // Processes of this machine.
  int local_size() const {
    const char* size = std::getenv("OMPI_COMM_WORLD_LOCAL_SIZE");
    return size ? std::max(std::atoi(size), 1) : comm_.size();
  }

  void open_data() {
    validation_ = open_dataset(options_.data_path, "val");
    if (!validation_.has_labels()) fail("{}: the pictures to evaluate on have no labels", options_.data_path);
    classes_ = validation_.class_count();
    if (options_.test_only) return;
    Dataset training = open_dataset(options_.data_path, "train");
    check_same_classes(training, validation_);
    classes_ = std::max(classes_, training.class_count());
    LoaderOptions loader;
    loader.batch_size = options_.batch_size;
    loader.workers = options_.workers >= 0 ? options_.workers : threads_;
    loader.seed = options_.seed;
    loader.rank = comm_.rank();
    loader.world = comm_.size();
    loader_ = std::make_unique<TrainLoader>(std::move(training), options_.transform, loader);
  }

  // The network, with the weights of a checkpoint where one is given.
  void build() {
    fs::path weights;
    if (!options_.resume.empty()) {
      checkpoint_ = find_checkpoint(options_.resume);
      weights = checkpoint_;
    } else if (!options_.pretrained.empty()) {
      weights = find_parameters(options_.pretrained, {"best", "latest"});
    }
    paddle::StateDict state;
    if (!weights.empty()) state = paddle::load_state_dict(weights);
    Graph graph;
    if (!options_.model_dir.empty()) {
      graph = models::load_inference_model(options_.model_dir).graph;
      if (!weights.empty()) load_parameters(graph, state, weights, names_, false);
    } else {
      const bool is_continued = !options_.resume.empty() || options_.test_only;
      std::int64_t classes = options_.num_classes;
      if (classes == 0)
        classes = is_continued && !weights.empty()
                      ? models::num_classes_of(state, options_.model, weights.string())
                      : classes_;
      graph = models::build_model(options_.model, {.num_classes = classes,
                                                   .img_size = options_.img_size,
                                                   .width = options_.width,
                                                   .seed = options_.seed});
      if (!weights.empty() && load_parameters(graph, state, weights, names_, !is_continued))
        warn("{} is for {} classes: the last layer starts anew for {}", weights.string(),
             models::num_classes_of(state, options_.model, weights.string()), classes);
    }
    const std::int64_t classes = graph.value(graph.outputs.at(0)).shape.back();
    if (classes >= 0 && classes < classes_)
      fail("{}: the data has {} classes, and the network {}; give --num-classes {}", options_.data_path,
           classes_, classes, classes_);
    network_ = std::make_unique<Network>(std::move(graph), device_);
    network_->quantize(state);
    if (!options_.resume.empty() && options_.quant.enabled && !network_->is_quantized())
      fail("--resume {}: this run is not quantization-aware; begin one with --pretrained {} --pact_quant",
           options_.resume, options_.resume);
    network_->precision = choose_precision(options_, device_);
    network_->step = {.seed = options_.seed, .rank = comm_.rank(), .world = comm_.size()};
    const Precision& precision = network_->precision;
    if (precision.rounded && is_first())
      warn(
          "this CPU has no fast {} arithmetic: operands are rounded to it and computed with in float32, "
          "which gives "
          "the same numbers up to the order of summation, but is not faster",
          precision.dtype == at::kHalf ? "float16" : "bfloat16");
  }

  // Learned ranges begin with what the first batch shows. A network that was not trained before has no
  // statistics yet, so it is looked at in training mode.
  void start_quantization() {
    loader_->start_epoch(0);
    const std::optional<TrainBatch> batch = loader_->next();
    check(batch.has_value(), "a loader has no first batch");
    network_->training = options_.pretrained.empty() && options_.model_dir.empty();
    network_->quantize(options_.quant, view_in_torch(batch->pixels));
  }

  // The int8 model, under the name that says how it was made and under the one that pipelines look for.
  void export_quantized() const {
    if (!is_first()) return;
    Graph graph = network_->deployed();
    models::to_inference(graph, /*softmax=*/true);
    const fs::path folder = options_.output_dir;
    for (const std::string stem : {"qat_inference", "inference"})
      paddle::save_model(graph, {folder / (stem + ".pdmodel"), folder / (stem + ".pdiparams")});
    say("wrote {} and .pdiparams", (folder / "qat_inference.pdmodel").string());
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

  void resume() {
    position_ = load_optimizer(checkpoint_, *network_, *optimizer_, names_);
    scale_.good_steps = position_.good_steps;
    if (scale_.scale > 1) scale_.scale = position_.loss_scale;
    say("resuming from {} at epoch {}, iteration {}", checkpoint_.string(), position_.epoch,
        position_.iteration);
  }

  void prepare_output() const {
    if (!is_first()) return;
    make_directory(options_.output_dir);
    AtomicFiles file;
    file.begin(fs::path(options_.output_dir) / "deploy.yaml");
    file.write(write_deploy_yaml(evaluation_of(options_.transform)));
    file.commit();
  }

  void save(const std::vector<std::string>& stems) {
    if (!is_first()) return;
    position_.learning_rate = learning_rate(
        options_, position_.epoch * loader_->batches() + position_.iteration, loader_->batches());
    position_.loss_scale = scale_.scale;
    position_.good_steps = scale_.good_steps;
    std::vector<fs::path> prefixes;
    for (const std::string& stem : stems) prefixes.push_back(fs::path(options_.output_dir) / stem);
    save_checkpoint(prefixes, *network_, *optimizer_, position_, names_);
  }

  // The step before a checkpoint may be the bad one: weights that are out of bounds are not saved.
  void check_weights() {
    if (last_pixels_.empty()) return;
    const at::NoGradGuard no_gradients;
    const bool training = std::exchange(network_->training, false);
    const at::Tensor scores = network_->forward(view_in_torch(last_pixels_));
    network_->training = training;
    if (!at::isfinite(scores).all().item<bool>()) stop_here("the network's scores are no finite numbers");
  }

  Accuracy evaluate() {
    const EvaluateOptions options{.batch_size = std::min(options_.batch_size, 64),
                                  .workers = std::max(options_.workers >= 0 ? options_.workers : threads_, 1),
                                  .comm = &comm_,
                                  .quiet = !is_first()};
    const Preprocess preprocess = evaluation_of(options_.transform);
    if (device_.is_cuda()) return train::evaluate(*network_, validation_, preprocess, options);
    return train::evaluate(network_->deployed(), validation_, preprocess, options, pool_);
  }

  double report(const Accuracy& accuracy) const {
    say(" * Acc@1 {:.4f} Acc@5 {:.4f}", accuracy.acc1(), accuracy.acc5());
    return accuracy.acc1();
  }

  // False: a signal asked to stop.
  bool train_epoch() {
    network_->training = true;
    network_->freeze_statistics =
        network_->is_quantized() && position_.epoch > 0 &&
        position_.epoch >= options_.epochs - static_cast<int>(options_.quant.freeze_share * options_.epochs);
    loader_->start_epoch(position_.epoch, position_.iteration);
    Window window;
    Clock::time_point start = Clock::now();
    for (;; ++position_.iteration) {
      const std::optional<TrainBatch> batch = loader_->next();
      if (!batch) {
        check_weights();
        return true;
      }
      for (const std::string& message : batch->broken) warn("{}; skipped", message);
      if (log_ && position_.iteration == 0) log_pictures(*batch);
      window.reader += seconds_since(start);
      const double rate = step(*batch, window);
      window.batch += seconds_since(start);
      start = Clock::now();
      ++window.steps;
      if (position_.iteration % options_.print_freq == 0) {
        print(window, rate);
        window = {};
        start = Clock::now();
      }
      if (should_stop()) {
        check_weights();
        ++position_.iteration;
        save({"latest"});
        say("stopped at epoch {}, iteration {}: latest.* is saved; go on with --resume {}", position_.epoch,
            position_.iteration, options_.output_dir);
        return false;
      }
    }
  }

  // In one process or in all.
  bool should_stop() {
    double signal = stop_signal;
    if (comm_.size() > 1) comm_.all_reduce(std::span<double>(&signal, 1));
    if (signal != 0 && stop_signal == 0) stop_signal = SIGTERM;
    return signal != 0;
  }

  double step(const TrainBatch& batch, Window& window) {
    const std::int64_t number = position_.epoch * loader_->batches() + position_.iteration;
    const double rate = learning_rate(options_, number, loader_->batches());
    network_->step.number = number;
    optimizer_->clear_gradients();
    const at::Tensor labels = at::tensor(batch.labels, at::kLong).to(device_);
    last_pixels_ = batch.pixels;
    const at::Tensor scores = network_->forward(view_in_torch(batch.pixels)).to(at::kFloat);
    const at::Tensor loss =
        at::cross_entropy_loss(scores, labels, {}, at::Reduction::Mean, -100, options_.label_smoothing);
    const double value = loss.item<double>();
    if (!std::isfinite(value)) stop_here(fmt::format("the loss is {}", value));
    if (reducer_) reducer_->start();
    (scale_.scale == 1 ? loss : loss * scale_.scale).backward();
    if (reducer_) reducer_->finish();
    update(rate);

    const auto samples = static_cast<std::int64_t>(batch.labels.size());
    const at::Tensor best = std::get<1>(scores.detach().topk(std::min<std::int64_t>(5, scores.size(1)), 1));
    const at::Tensor hits = best.eq(labels.view({-1, 1}));
    window.loss += value * static_cast<double>(samples);
    window.top1 += hits.slice(1, 0, 1).sum().item<double>();
    window.top5 += hits.sum().item<double>();
    window.samples += samples;
    return rate;
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

  // Training has gone wrong; what is saved stays.
  [[noreturn]] void stop_here(const std::string& what) const {
    const fs::path latest = fs::path(options_.output_dir) / "latest.pdparams";
    fail(
        "{} at epoch {}, iteration {}; {}. Try a smaller --lr, or a --warmup-epochs", what, position_.epoch,
        position_.iteration,
        fs::exists(latest) ? "the last good checkpoint is " + latest.string() : "there is no checkpoint yet");
  }

  void print(const Window& window, double rate) {
    double sums[] = {window.loss, window.top1, window.top5, static_cast<double>(window.samples)};
    if (comm_.size() > 1) comm_.all_reduce(std::span<double>(sums));
    const double n = sums[3], steps = static_cast<double>(window.steps);
    say("[Epoch {}, iter: {}] top1: {:.5f}, top5: {:.5f}, lr: {:.5f}, loss: {:.5f}, avg_reader_cost: {:.5f} "
        "sec, "
        "avg_batch_cost: {:.5f} sec, avg_samples: {}, avg_ips: {:.5f} images/sec.",
        position_.epoch, position_.iteration, sums[1] / n, sums[2] / n, rate, sums[0] / n,
        window.reader / steps, window.batch / steps, n / steps, n / window.batch);
    if (!log_) return;
    const std::int64_t step = network_->step.number;
    log_->add_scalar("train/loss", step, sums[0] / n);
    log_->add_scalar("train/top1", step, sums[1] / n);
    log_->add_scalar("train/top5", step, sums[2] / n);
    log_->add_scalar("train/lr", step, rate);
    log_->add_scalar("train/images_per_second", step, n / window.batch);
  }

  // The first pictures of a batch as the network sees them.
  void log_pictures(const TrainBatch& batch) {
    constexpr std::int64_t kPictures = 4;
    const int size = options_.img_size;
    const auto plane = static_cast<std::size_t>(size) * static_cast<std::size_t>(size);
    for (std::int64_t i = 0; i < std::min(kPictures, batch.pixels.dim(0)); ++i) {
      auto planes = batch.pixels.data<float>().subspan(static_cast<std::size_t>(i) * 3 * plane, 3 * plane);
      Image image(size, size);
      for (std::size_t p = 0; p < 3 * plane; ++p) {
        const std::size_t c = p / plane;
        const float value = planes[p] * options_.transform.std[c] + options_.transform.mean[c];
        image.pixels[p % plane * 3 + c] =
            static_cast<std::uint8_t>(std::clamp(value * 255 + 0.5f, 0.0f, 255.0f));
      }
      log_->add_image(fmt::format("train/input_{}", i), position_.epoch, image);
    }
  }

  const TrainOptions& options_;
  Comm& comm_;
  const at::Device device_;
  const int threads_;
  ThreadPool pool_;  // of octet's runtime
  const CheckpointNames names_;

  Dataset validation_;
  std::int64_t classes_ = 0;  // in the data
  std::unique_ptr<TrainLoader> loader_;
  std::unique_ptr<Network> network_;
  std::unique_ptr<Optimizer> optimizer_;
  std::unique_ptr<Comm> statistics_comm_;
  std::unique_ptr<Reducer> reducer_;
  Tensor last_pixels_;   // of the last step
  fs::path checkpoint_;  // that is resumed
  Position position_;
  LossScale scale_;
  std::unique_ptr<VisualDLWriter> log_;
};

}  // namespace

int train(const TrainOptions& options, Comm& comm) {
  return Trainer(options, comm).run();
}

}  // namespace octet::train
