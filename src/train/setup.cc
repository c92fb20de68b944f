#include "train/setup.h"

#include <algorithm>
#include <mutex>
#include <thread>

#include "base/journal.h"
#include "base/threads.h"
#include "formats/format.h"
#include "models/inference_model.h"
#include "models/models.h"
#include "models/names.h"
#include "models/new_head.h"
#include "quant/fake_quant.h"
#include "tasks/classification.h"
#include "tasks/segmentation.h"
#include "train/device.h"
#include "train/run_folder.h"

namespace octet::train {

namespace {

namespace fs = std::filesystem;

// Weights of the backbone alone.
void load_backbone(const TrainOptions& options, Graph& graph, Reporter& reporter) {
  const fs::path file = models::find_checkpoint(options.backbone_pretrained);
  const models::PartialResult result =
      models::read_what_fits(graph, load_state_dict(file), options.model, "backbone");
  if (result.total == 0) fail("model.backbone.pretrained: {} has no backbone", options.model);
  if (result.loaded == 0)
    fail("{}: none of the {} parameters of {}'s backbone is in it{}", file.string(), result.total,
         options.model,
         result.differing.empty() ? ", such as " + result.missing.front() : "; " + result.differing.front());
  if (result.loaded < result.total)
    reporter.warning(
        fmt::format("{}: {} of the {} parameters of the backbone are in it; the others start anew",
                    file.string(), result.loaded, result.total));
}

// A network of the zoo, for as many classes as the options, the checkpoint or the data say.
Graph build_graph(const TrainOptions& options, const StateDict& state, const fs::path& weights,
                  std::int64_t classes_of_data, const CheckpointNames& names, Reporter& reporter) {
  const bool is_continued = !options.resume.empty() || options.test_only;
  std::int64_t classes = options.num_classes;
  if (classes == 0)
    classes = is_continued && !weights.empty()
                  ? models::num_classes_of(state, options.model, weights.string())
                  : classes_of_data;
  Graph graph = models::build_model(options.model, {.num_classes = classes,
                                                    .img_size = options.img_size,
                                                    .width = options.width,
                                                    .seed = options.seed,
                                                    .segmentation = options.network});
  if (weights.empty() && !options.backbone_pretrained.empty()) load_backbone(options, graph, reporter);
  if (!weights.empty() && load_parameters(graph, state, weights, names, !is_continued))
    reporter.warning(fmt::format("{} is for {} classes: the last layer starts anew for {}", weights.string(),
                                 models::num_classes_of(state, options.model, weights.string()), classes));
  return graph;
}

// An inference model, for as many classes as the options say, or else the checkpoint or the model itself.
Graph import_graph(const TrainOptions& options, const StateDict& state, const fs::path& weights,
                   const CheckpointNames& names) {
  Graph graph = models::load_inference_model(options.model_dir).graph;
  const std::int64_t saved = models::num_classes_of(graph, state);
  const std::int64_t classes = options.num_classes > 0 ? options.num_classes : saved;
  const bool is_continued = !options.resume.empty() || options.test_only;
  if (!weights.empty() && is_continued && classes != saved)
    fail("{}: it has {} classes, and --num-classes is {}; begin a new run with --pretrained",
         weights.string(), saved, classes);
  if (!weights.empty()) {
    models::fit_head(graph, saved, options.seed, options.model_dir);
    load_parameters(graph, state, weights, names, false);
  }
  models::fit_head(graph, classes, options.seed, options.model_dir);
  return graph;
}

Graph load_graph(const TrainOptions& options, const StateDict& state, const fs::path& weights,
                 std::int64_t classes, const CheckpointNames& names, Reporter& reporter) try {
  return options.model_dir.empty() ? build_graph(options, state, weights, classes, names, reporter)
                                   : import_graph(options, state, weights, names);
} catch (const Error& error) {
  if (options.resume.empty() || error.kind() != Error::Kind::kUser ||
      file_exists(weights.parent_path() / "recipe.yaml"))
    throw;
  fail("{}; there is no recipe.yaml beside it, so give the flags of that run again: --model, --width, ...",
       error.what());
}

}  // namespace

CheckpointNames names_of(const TrainOptions& options) {
  return {options.model_dir.empty() ? options.model : "", options.names};
}

namespace {

std::unique_ptr<Loader> training_loader(Dataset dataset, const TrainOptions& options, const Comm& comm,
                                        int workers) {
  return std::make_unique<Loader>(std::move(dataset), options.train_transforms,
                                  LoaderOptions{.batching = Batching::kFull,
                                                .batch_size = options.batch_size,
                                                .workers = workers,
                                                .seed = options.seed,
                                                .shard = {comm.rank(), comm.size()},
                                                .balanced = options.balanced_sampling});
}

TrainingData open_mask_data(const TrainOptions& options, const Comm& comm, int workers) {
  if (options.mixup > 0 || options.cutmix > 0 || options.balanced_sampling)
    fail("--mixup, --cutmix and --balanced-sampling are for classifiers, and {} segments", options.model);
  check_segment_options(options.test);
  TrainingData data;
  data.classes = options.num_classes;
  if (options.test_only || options.do_eval || !goes_by_iterations(options)) {
    data.validation = open_masks(options.val_masks);
    if (!data.validation.has_masks())
      fail("{}: the pictures to evaluate on have no masks", options.val_masks.root);
    data.notes = data.validation.notes;
  }
  if (options.test_only) return data;
  Dataset training = open_masks(options.train_masks);
  if (!training.has_masks()) fail("{}: the pictures to train on have no masks", options.train_masks.root);
  std::ranges::copy(training.notes, std::back_inserter(data.notes));
  data.loader = training_loader(std::move(training), options, comm, workers);
  return data;
}

}  // namespace

TrainingData open_data(const TrainOptions& options, const Comm& comm, int workers) {
  if (options.task == TaskKind::kSegmentation) return open_mask_data(options, comm, workers);
  TrainingData data;
  const std::string& path = options.val_data_path.empty() ? options.data_path : options.val_data_path;
  data.validation = open_dataset(path, "val");
  if (!data.validation.has_labels()) fail("{}: the pictures to evaluate on have no labels", path);
  data.classes = data.validation.class_count();
  data.class_names = data.validation.classes;
  if (options.test_only) return data;
  Dataset training = open_dataset(options.data_path, "train");
  check_same_classes(training, data.validation);
  data.classes = std::max(data.classes, training.class_count());
  if (!training.classes.empty()) data.class_names = training.classes;
  data.loader = training_loader(std::move(training), options, comm, workers);
  return data;
}

namespace {

// Of a classifier's loss; undefined: all alike.
at::Tensor class_weights_of(const TrainOptions& options, const Dataset& training, std::int64_t classes) {
  if (!options.class_weights.empty() && std::ssize(options.class_weights) != classes)
    fail("--class-weights: there are {} weights, and the network has {} classes",
         options.class_weights.size(), classes);
  if (!options.class_weights.empty()) return at::tensor(options.class_weights, at::kFloat);
  if (!options.auto_class_weights) return {};
  std::vector<double> counts(static_cast<std::size_t>(classes)), weights(counts.size(), 1);
  for (const Entry& entry : training.entries) ++counts.at(static_cast<std::size_t>(entry.label));
  const auto seen = static_cast<double>(std::ranges::count_if(counts, [](double n) { return n > 0; }));
  for (std::size_t c = 0; c < counts.size(); ++c)
    if (counts[c] > 0) weights[c] = static_cast<double>(training.entries.size()) / (seen * counts[c]);
  return at::tensor(weights, at::kFloat);
}

// One for each output. A single one stands for all.
std::vector<LossSpec> losses_of_outputs(const TrainOptions& options, std::int64_t classes,
                                        std::size_t outputs) {
  std::vector<LossSpec> losses = options.losses;
  if (losses.size() == 1) losses.resize(outputs, losses[0]);
  if (losses.size() != outputs)
    fail("loss: there are {} losses, and {} has {} outputs, each of which needs one (loss.types, loss.coef)",
         losses.size(), options.model, outputs);
  for (const LossSpec& loss : losses) check_loss(loss, classes);
  return losses;
}

}  // namespace

LossOptions loss_options(const TrainOptions& options, const Task& task, const Dataset& training,
                         std::int64_t classes, std::size_t outputs, at::Device device) {
  LossOptions loss{.label_smoothing = options.label_smoothing};
  if (task.loss == Loss::kPixels) {
    loss.specs = losses_of_outputs(options, classes, outputs);
    loss.segmentation.batch_dice = options.paddleseg == PaddleSeg::k2_2;
    return loss;
  }
  loss.class_weights = class_weights_of(options, training, classes);
  if (loss.class_weights.defined()) loss.class_weights = loss.class_weights.to(device);
  return loss;
}

const Task& task_of(const TrainOptions& options) {
  return options.task == TaskKind::kSegmentation ? kSegmentation : kClassification;
}

std::int64_t class_dimension(const Task& task, const Shape& scores) {
  if (task.loss != Loss::kPixels) return scores.empty() ? kUnknown : scores.back();
  return scores.size() == 4 ? scores[1] : kUnknown;
}

Start build_network(const TrainOptions& options, std::int64_t classes, at::Device device, const Comm& comm,
                    const CheckpointNames& names, Reporter& reporter) {
  Start start;
  fs::path weights;
  if (!options.resume.empty())
    weights = start.checkpoint = find_checkpoint(options.resume);
  else if (!options.pretrained.empty())
    weights = find_parameters(options.pretrained, {"best", "latest", "model", "best_model/model"});
  StateDict state;
  if (!weights.empty()) state = load_state_dict(weights);
  Graph graph = load_graph(options, state, weights, classes, names, reporter);
  const std::int64_t scores = class_dimension(task_of(options), graph.value(graph.outputs.at(0)).shape);
  if (scores >= 0 && scores < classes)
    fail("{}: the data has {} classes, and the network {}; give --num-classes {}", options.data_path, classes,
         scores, classes);
  quant::read_fake_quant(graph, state);
  start.network = std::make_unique<Network>(std::move(graph), device);
  if (!options.resume.empty() && options.quant.enabled && !start.network->is_quantized())
    fail("--resume {}: this run is not quantization-aware; begin one with --pretrained {} --pact_quant",
         options.resume, options.resume);
  const Precision precision = choose_precision(options, device);
  start.network->precision = precision;
  start.network->step = {.seed = options.seed, .rank = comm.rank(), .world = comm.size()};
  if (precision.rounded && comm.rank() == 0)
    reporter.warning(fmt::format(
        "this CPU has no fast {} arithmetic: operands are rounded to it and computed with in float32, which "
        "gives the same numbers up to the order of summation, but is not faster",
        precision.dtype == at::kHalf ? "float16" : "bfloat16"));
  return start;
}

int usable_threads(int wanted, Reporter& reporter) {
  // octet's own, libgomp's and the loader's run at the same time, and libgomp ends the program when it gets
  // fewer than it was told.
  constexpr int kPools = 3;
  std::mutex mutex;
  std::vector<std::thread> started;
  {
    const std::lock_guard lock(mutex);  // they wait for each other, so that all are there at once
    start_threads(started, kPools * wanted - 1, [&mutex](int) { const std::lock_guard end(mutex); });
  }
  for (std::thread& thread : started) thread.join();
  if (static_cast<int>(started.size()) == kPools * wanted - 1) return wanted;
  // Whatever the limit is, training itself needs some of it, too.
  const int threads =
      std::clamp(static_cast<int>(started.size() + 1) / (2 * kPools), 1, std::max(default_threads(), 1));
  reporter.notice(
      fmt::format("the system has no room for {0} threads to train, {0} to read data and {0} to run models; "
                  "going on with {1} of each",
                  wanted, std::min(threads, wanted)));
  return std::min(threads, wanted);
}

}  // namespace octet::train
