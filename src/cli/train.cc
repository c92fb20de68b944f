#include "cli/train.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>

#include "base/error.h"
#include "base/journal.h"
#include "cli/command.h"
#include "cli/recipe.h"
#include "cli/start_train.h"
#include "data/transforms/auto_augment.h"
#include "data/transforms/color_jitter.h"
#include "data/transforms/flip.h"
#include "data/transforms/random_crop.h"
#include "data/transforms/random_erasing.h"
#include "data/transforms/resize.h"
#include "models/models.h"

namespace octet::cli {

namespace {

namespace fs = std::filesystem;

void add_network_flags(Args& args, TrainFlags* flags) {
  train::TrainOptions& train = flags->train;
  args.group("Network");
  args.add("model", &train.model, "NAME", "a network of the zoo; an unknown name lists them").path =
      "model.type";
  args.add("model-dir", &train.model_dir, "MODEL",
           "train this inference model in place of a network of the zoo")
      .path = "model.model_dir";
  Flag& classes = args.add("num-classes", &flags->num_classes, {1, 1 << 20}, "classes");
  classes.default_text = "what the checkpoint or the data has";
  classes.path = "model.num_classes";
  Flag& size = args.add("img-size", &flags->img_size, {8, 4096}, "height and width of the input");
  size.default_text = "224";
  size.path = "model.img_size";
  args.add("width", &train.width, "channel multiplier of every layer").path = "model.width";
  args.add("pretrained", &train.pretrained, "FILE_OR_DIR",
           "start from the weights of this checkpoint: a file, a prefix without .pdparams, or a folder")
      .path = "model.pretrained";
  args.add("resume", &train.resume, "FILE_OR_DIR",
           "continue this run exactly where it stopped, with its recipe.yaml: a prefix, or a folder, whose "
           "latest.* is taken")
      .path = "resume";
  Flag& start = args.add("start-epoch", &flags->start_epoch, {0, 1 << 20}, "count epochs from this one");
  start.default_text = "0, or where the resumed run was";
  start.path = "start_epoch";
  args.add("test-only", &train.test_only, "only evaluate").path = "test_only";
}

void add_data_flags(Args& args, TrainFlags* flags) {
  train::TrainOptions& train = flags->train;
  args.group("Data");
  Flag& data =
      args.add("data-path", &train.data_path, "DIR",
               "train and val with one folder per class each, or train_list.txt and val_list.txt, or "
               "MNIST's idx files");
  data.aliases = {"data-dir"};
  data.path = "train_dataset.dataset_root";
  data.set = [&train](const std::string& text) {
    train.data_path = text;
    train.val_data_path.clear();
  };
  args.add("val_dataset.dataset_root", &train.val_data_path, "DIR", "pictures to evaluate on").default_text =
      "train_dataset.dataset_root";
  args.add_fixed("train_dataset.type", "Dataset", "pictures with classes, in any form that docs/data.md has");
  args.add_fixed("train_dataset.mode", "train", "its pictures to train on");
  args.add_fixed("val_dataset.type", "Dataset", "the same");
  args.add_fixed("val_dataset.mode", "val", "its pictures to evaluate on");
  Flag& workers = args.add("workers", &flags->workers, {0, 256}, "threads that read and decode pictures");
  workers.aliases = {"j"};
  workers.default_text = "as many as threads";
  workers.path = "workers";
  add_transforms(args, "train_dataset.transforms", &train.train_transforms, /*random_allowed=*/true,
                 "what happens to a picture before it is trained on");
  add_transforms(args, "val_dataset.transforms", &train.val_transforms, /*random_allowed=*/false,
                 "and before it is evaluated on or deployed");
  args.add("balanced-sampling", &train.balanced_sampling,
           "show all classes equally often, however many pictures each has")
      .path = "balanced_sampling";
  args.add("mixup", &train.mixup,
           "mixup: blend each picture with another one, weighted by Beta(X, X); 0: off")
      .path = "mixup";
  args.add("cutmix", &train.cutmix,
           "CutMix: paste a rectangle of another picture into each, its area from Beta(X, X); 0: off; with "
           "--mixup, they take turns by batch")
      .path = "cutmix";
  TrainingPictures& pictures = flags->pictures;
  args.add("crop-pad", &pictures.pad, {0, 1024},
           "random crops of the padded picture, with this many pixels of padding, in place of crops of "
           "random size; for small pictures");
  args.add("interpolation", &flags->interpolation, "bilinear|bicubic|nearest|opencv",
           "how pictures are scaled")
      .default_text = "bilinear";
  args.add("flip", &pictures.flip, "mirror every other picture");
  args.add("color-jitter", &pictures.color_jitter,
           "change brightness, contrast and saturation by up to this share");
  args.add("auto-augment", &pictures.auto_augment, "AutoAugment, with its policy for ImageNet");
  args.add("random-erase", &pictures.random_erase, "probability that a random rectangle is erased");
  args.add("mean", &flags->mean, "subtracted from the pixels, which are between 0 and 1").default_text =
      "0.485,0.456,0.406";
  args.add("std", &flags->std, "what the result is divided by").default_text = "0.229,0.224,0.225";
}

void add_schedule_flags(Args& args, train::TrainOptions& train) {
  Flag& rate = args.add("lr", &train.lr, "learning rate");
  rate.path = "lr_scheduler.learning_rate";
  rate.other_paths = {"learning_rate", "learning_rate.value"};
  Flag& momentum = args.add("momentum", &train.momentum, "of sgd and rmsprop");
  momentum.path = "optimizer.momentum";
  momentum.below = 1;
  Flag& decay = args.add("weight-decay", &train.weight_decay, "of all parameters");
  decay.aliases = {"wd"};
  decay.path = "optimizer.weight_decay";
  Flag& schedule =
      args.add("lr-schedule", &train.lr_schedule, "step|cosine|poly", "how the learning rate falls");
  schedule.path = "lr_scheduler.type";
  schedule.other_paths = {"learning_rate.decay.type"};
  schedule.synonyms = {{"PolynomialDecay", "poly"}};
  args.add("lr-step-size", &train.lr_step_size, {1, 1 << 20}, "step: epochs between drops").path =
      "lr_scheduler.step_size";
  args.add("lr-gamma", &train.lr_gamma, "step: factor of each drop").path = "lr_scheduler.gamma";
  args.add("lr_scheduler.power", &train.lr_power, "poly: of what is left of the run").other_paths = {
      "learning_rate.decay.power"};
  args.add("lr_scheduler.end_lr", &train.lr_end, "poly: the learning rate at the end").other_paths = {
      "learning_rate.decay.end_lr"};
  args.add("warmup-epochs", &train.warmup_epochs, "epochs over which the learning rate grows from 0").path =
      "lr_scheduler.warmup_epochs";
  args.add("lr_scheduler.warmup_iters", &train.warmup_iters, {0, 1 << 30},
           "the same in iterations, from warmup_start_lr");
  args.add("lr_scheduler.warmup_start_lr", &train.warmup_start_lr, "where that begins");
}

// "auto", or a number for each class.
void add_class_weights(Args& args, train::TrainOptions& train) {
  Flag& weights = args.add_key("class-weights", "auto|W1,W2,...",
                               "weights of the classes in the loss; auto: the rarer a class, the larger");
  weights.path = "loss.types.0.weight";
  weights.set = [&train](const std::string& text) {
    train.auto_class_weights = text == "auto";
    train.class_weights.clear();
    if (train.auto_class_weights) return;
    for (const std::string& part : split(text, ", ")) {
      double weight = 0;
      const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), weight);
      if (error != std::errc() || end != part.data() + part.size() || !std::isfinite(weight) || weight <= 0)
        fail("'{}' is not auto, and no list of numbers above 0, such as 1,2.5,1", text);
      train.class_weights.push_back(weight);
    }
  };
  weights.get = [&train] {
    std::vector<std::string> texts;
    if (train.auto_class_weights) texts = {"auto"};
    if (!train.class_weights.empty()) texts = {fmt::format("{}", fmt::join(train.class_weights, ","))};
    return texts;
  };
}

void add_training_flags(Args& args, TrainFlags* flags) {
  train::TrainOptions& train = flags->train;
  args.group("Training");
  Flag& batch = args.add("batch-size", &train.batch_size, {1, 1 << 20}, "pictures per step, in each process");
  batch.aliases = {"b"};
  batch.path = "batch_size";
  args.add("epochs", &train.epochs, {0, 1 << 20}, "how many times to go through the data").path = "epochs";
  Flag& iters = args.add("iters", &train.iters, {0, 1 << 30}, "how many steps, in place of epochs");
  iters.default_text = "";
  iters.path = "iters";
  Flag& opt = args.add("opt", &train.opt, "sgd|rmsprop|adamw", "optimiser");
  opt.path = "optimizer.type";
  opt.synonyms = {{"Momentum", "sgd"}, {"RMSProp", "rmsprop"}, {"AdamW", "adamw"}};
  add_schedule_flags(args, train);
  Flag& accumulate = args.add("accumulate", &train.accumulate, {1, 1 << 20},
                              "batches per optimiser step: large batches in little memory");
  accumulate.path = "accumulate";
  args.add("clip-grad-norm", &train.clip_grad_norm, "scale gradients down to this norm; 0: don't").path =
      "clip_grad_norm";
  args.add("freeze", &train.freeze, "NAME_OR_GLOB",
           "parameters that stay as they are, with the statistics of their batch norms")
      .path = "freeze";
  args.add("use-ema", &train.use_ema, "evaluate and save moving averages of the weights").path = "use_ema";
  Flag& decay = args.add("ema-decay", &train.ema_decay, "how much of the average stays after each step");
  decay.path = "ema_decay";
  decay.below = 1;
  Flag& early = args.add("early-stop-intervals", &train.early_stop_intervals, {0, 1 << 20},
                         "stop after N epochs without a better result; 0: never");
  early.path = "early_stop_intervals";
  Flag& smoothing = args.add("label-smoothing", &train.label_smoothing,
                             "share of the target that is spread over all classes");
  smoothing.path = "loss.types.0.label_smoothing";
  smoothing.below = 1;
  add_class_weights(args, train);
  args.add_fixed("loss.types.0.type", "CrossEntropyLoss", "the loss");
  args.add_fixed("loss.coef", "1", "its weight");
  args.add("amp-level", &train.amp_level, "O0|O1|O2",
           "mixed precision: O1 computes convolutions and products in 16 bits, O2 nearly everything")
      .path = "amp.level";
  Flag& dtype = args.add("amp-dtype", &train.amp_dtype, "bfloat16|float16", "the 16 bits");
  dtype.default_text = "bfloat16 on the CPU, float16 on a GPU";
  dtype.path = "amp.dtype";
  args.add("seed", &flags->seed, {0, 1 << 30}, "seed for everything random").path = "seed";

  args.group("Quantization");
  args.add("pact-quant", &flags->quant.options.enabled,
           "train with the int8 arithmetic of the deployed model in mind")
      .path = "quant.pact_quant";
  add_quant_flags(args, &flags->quant);
  args.add("freeze-bn-share", &flags->quant.options.freeze_share,
           "share of the epochs, at the end, in which batch norms keep their statistics")
      .path = "quant.freeze_bn_share";
}

void add_output_flags(Args& args, TrainFlags* flags) {
  train::TrainOptions& train = flags->train;
  args.group("Device");
  Flag& device = args.add("device", &train.device, "auto|cpu|gpu|gpu:N", "auto: a GPU if one is usable");
  device.set = [&train](const std::string& text) { train.device = text; };
  device.path = "device";
  Flag& threads = args.add("threads", &flags->threads, {1, 1024}, "CPU threads");
  threads.default_text = "all cores";
  threads.path = "threads";
  args.add("sync-bn", &train.sync_bn, "batch norms take their statistics over all processes").path =
      "sync_bn";

  args.group("Output");
  args.add("output-dir", &train.output_dir, "DIR", "where checkpoints go").path = "output_dir";
  args.add("names", &train.names, "reference|paddle.vision", "names of the parameters in checkpoints").path =
      "names";
  args.add("print-freq", &train.print_freq, {1, 1 << 20}, "steps between lines of the log").path =
      "print_freq";
  args.add("per-class", &train.per_class, "with --test-only: a table of the classes as well").path =
      "per_class";
  args.add("use-vdl", &train.use_vdl, "write a log for VisualDL, vdlrecords.*.log, too").path = "use_vdl";
  args.add("use-tensorboard", &train.use_tensorboard,
           "write a log for TensorBoard, events.out.tfevents.*, too")
      .path = "use_tensorboard";
}

// The flags that make this list; nothing where only a list can say it.
std::optional<TrainingPictures> pictures_of(const Transforms& list) {
  TrainingPictures pictures;
  if (const auto* part = find<RandomResizedCrop>(list)) {
    pictures.size = part->size;
    pictures.interpolation = part->interpolation;
  }
  if (const auto* resize = find<ResizeShort>(list)) pictures.interpolation = resize->interpolation;
  if (const auto* crop = find<RandomCrop>(list)) {
    pictures.size = crop->size;
    pictures.pad = crop->padding;
  }
  pictures.flip = find<RandomHorizontalFlip>(list);
  pictures.auto_augment = find<AutoAugment>(list);
  if (const auto* jitter = find<ColorJitter>(list)) pictures.color_jitter = jitter->brightness;
  if (const auto* colors = find<Normalize>(list)) pictures.colors = *colors;
  if (const auto* erasing = find<RandomErasing>(list)) pictures.random_erase = erasing->prob;
  if (training_transforms(pictures) != list) return std::nullopt;
  return pictures;
}

// The lists, of the flags where the recipe has none.
void set_transforms(const TrainFlags& flags, train::TrainOptions& train) {
  TrainingPictures pictures = flags.pictures;
  if (flags.img_size) pictures.size = *flags.img_size;
  if (flags.interpolation) pictures.interpolation = parse_interpolation(*flags.interpolation);
  if (flags.mean) pictures.colors.mean = *flags.mean;
  if (flags.std) pictures.colors.std = *flags.std;
  train.img_size = pictures.size;
  if (train.train_transforms.empty()) {
    train.train_transforms = training_transforms(pictures);
    if (train.val_transforms.empty()) train.val_transforms = evaluation_transforms(pictures);
    check_transforms(train.train_transforms);
    return;
  }
  if (pictures != TrainingPictures{.size = pictures.size})
    fail("the recipe lists transforms of its own: change them there, and leave out the flags about pictures");
  if (train.val_transforms.empty())
    fail("the recipe has train_dataset.transforms, and no val_dataset.transforms");
  if (flags.img_size) return;
  const CenterCrop* crop = find<CenterCrop>(train.val_transforms);
  if (!crop) fail("how large are the pictures? Give model.img_size in the recipe, or --img-size");
  train.img_size = crop->size;
}

// Between a recipe and the flags of the command line: lists that flags could have made are taken for those
// flags, so that others can change them.
void take_lists_for_flags(TrainFlags* flags) {
  Transforms &train = flags->train.train_transforms, &val = flags->train.val_transforms;
  const std::optional<TrainingPictures> pictures = pictures_of(train);
  if (!pictures || (!val.empty() && val != evaluation_transforms(*pictures))) return;
  if (flags->img_size.value_or(pictures->size) != pictures->size) return;
  flags->pictures = *pictures;
  train.clear();
  val.clear();
}

// A run that is resumed goes by its own recipe, but for what is about one start of it. It goes on in its
// folder.
void take_recipe_of_run(Args& args, TrainFlags* flags, const std::string& resumed) {
  std::error_code error;
  const fs::path path = resumed, folder = fs::is_directory(path, error) ? path : path.parent_path();
  const fs::path recipe = folder / "recipe.yaml";
  if (!file_exists(recipe)) return;
  load_recipe(args, recipe);
  take_lists_for_flags(flags);
  flags->train.resume.clear();
  flags->train.pretrained.clear();
  flags->train.test_only = flags->train.per_class = false;
  flags->start_epoch.reset();
  flags->train.output_dir = folder.empty() ? "." : folder.string();
}

}  // namespace

void add_train_flags(Args& args, TrainFlags* flags) {
  add_network_flags(args, flags);
  add_data_flags(args, flags);
  add_training_flags(args, flags);
  add_output_flags(args, flags);
  args.add_config([flags] { take_lists_for_flags(flags); });
  args.read_first("resume",
                  [&args, flags](const std::string& resumed) { take_recipe_of_run(args, flags, resumed); });
}

train::TrainOptions options_of(const TrainFlags& flags) {
  train::TrainOptions train = flags.train;
  if (train.model_dir.empty()) models::check_model_name(train.model);
  if (!train.pretrained.empty() && !train.resume.empty())
    fail("--pretrained and --resume can't go together: a resumed run has its weights already");
  if (train.amp_level == "O0") train.amp_level.clear();
  train.num_classes = flags.num_classes.value_or(0);
  train.workers = flags.workers.value_or(-1);
  train.start_epoch = flags.start_epoch.value_or(-1);
  train.threads = flags.threads.value_or(0);
  train.seed = static_cast<std::uint64_t>(flags.seed);

  set_transforms(flags, train);
  train.quant = options_of(flags.quant);
  return train;
}

std::string make_recipe(Args& args, TrainFlags* flags) {
  flags->train = options_of(*flags);
  flags->img_size = flags->train.img_size;
  return write_recipe(args);
}

train::TrainOptions read_train_options(const std::string& recipe, const std::string& name) {
  TrainFlags flags;
  Args args("train", "");
  add_train_flags(args, &flags);
  read_recipe(args, recipe, name);
  train::TrainOptions options = options_of(flags);
  options.recipe = recipe;
  return options;
}

std::function<int()> declare_train(Args& args) {
  auto flags = std::make_shared<TrainFlags>();
  add_train_flags(args, flags.get());
  args.note(
      "After each epoch the network is evaluated, and model_N.pdparams and .pdopt, latest.* and, if it is "
      "the best so far, best.* are written. Ctrl-C and SIGTERM write latest.* and stop; --resume goes on "
      "there. recipe.yaml, beside them, has all that the run was told, for --config. Several processes: "
      "`octet launch --nproc 2 train ...`.");
  args.example("octet train --data-path ILSVRC2012 --model mobilenet_v3_small --output-dir out");
  args.example("octet train --resume out");
  args.example("octet train --config configs/fashion_mnist/mobilenet_v3_small.yaml");
  return [flags, &args] { return start_train("train", make_recipe(args, flags.get())); };
}

}  // namespace octet::cli
