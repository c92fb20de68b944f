#include "cli/train.h"

#include <filesystem>

#include "base/error.h"
#include "base/journal.h"
#include "cli/command.h"
#include "cli/console.h"
#include "cli/download.h"
#include "cli/optimizer_keys.h"
#include "cli/recipe.h"
#include "cli/start_train.h"

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
  Flag& pretrained =
      args.add("pretrained", &train.pretrained, "FILE_OR_DIR",
               "start from the weights of this checkpoint: a file, a prefix without .pdparams, or a folder");
  pretrained.path = "model.pretrained";
  pretrained.aliases = {"model-path"};
  Flag& resume = args.add(
      "resume", &train.resume, "FILE_OR_DIR",
      "continue this run exactly where it stopped, with its recipe.yaml: a prefix, or a folder, whose "
      "latest.* is taken, or an iter_N of segmentation");
  resume.path = "resume";
  resume.aliases = {"resume-model"};
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
  Flag& workers = args.add("workers", &flags->workers, {0, 256}, "threads that read and decode pictures");
  workers.aliases = {"j", "num-workers"};
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
  args.add("flip", &pictures.flip, "mirror half of the pictures, chosen at random");
  args.add("color-jitter", &pictures.color_jitter,
           "change brightness, contrast and saturation by up to this share");
  args.add("auto-augment", &pictures.auto_augment, "AutoAugment, with its policy for ImageNet");
  args.add("random-erase", &pictures.random_erase, "probability that a random rectangle is erased");
  args.add("mean", &flags->mean, "subtracted from the pixels, which are between 0 and 1").default_text =
      "0.485,0.456,0.406";
  args.add("std", &flags->std, "what the result is divided by").default_text = "0.229,0.224,0.225";
}

void add_schedule_flags(Args& args, TrainFlags* flags) {
  train::TrainOptions& train = flags->train;
  Flag& rate = args.add("lr", &flags->lr, "learning rate");
  rate.default_text = "0.1";
  rate.path = "lr_scheduler.learning_rate";
  rate.other_paths = {"learning_rate", "learning_rate.value"};
  Flag& other = args.add_key("learning-rate", "X", "PaddleSeg's name for --lr; 0: as the recipe says");
  other.set = [flags, set = rate.set](const std::string& text) {
    const std::optional<double> before = flags->lr;
    set(text);
    if (flags->lr == 0.0) flags->lr = before;
  };
  other.get = [] { return std::vector<std::string>(); };
  Flag& momentum = args.add("momentum", &flags->momentum, "of sgd and rmsprop");
  momentum.default_text = "0.9";
  momentum.path = "optimizer.momentum";
  momentum.below = 1;
  Flag& decay = args.add("weight-decay", &flags->weight_decay, "of all parameters");
  decay.default_text = "0.0001; segmentation: 0";
  decay.aliases = {"wd"};
  decay.path = "optimizer.weight_decay";
  Flag& schedule = args.add("lr-schedule", &flags->lr_schedule,
                            "step|cosine|poly|piecewise|step_iters|constant", "how the learning rate falls");
  schedule.default_text = "step; segmentation: constant";
  schedule.path = "lr_scheduler.type";
  schedule.other_paths = {"learning_rate.decay.type"};
  schedule.synonyms = {{"PolynomialDecay", "poly"},
                       {"CosineAnnealingDecay", "cosine"},
                       {"PiecewiseDecay", "piecewise"},
                       {"StepDecay", "step_iters"},
                       {"stepdecay", "step_iters"}};
  args.add("lr-step-size", &train.lr_step_size, {1, 1 << 30},
           "step: epochs between drops; step_iters: iterations")
      .path = "lr_scheduler.step_size";
  args.add("lr-gamma", &train.lr_gamma, "step, step_iters: factor of each drop").path = "lr_scheduler.gamma";
  Flag& power = args.add("lr_scheduler.power", &flags->lr_power, "poly: of what is left of the run");
  power.default_text = "0.9";
  power.other_paths = {"learning_rate.decay.power"};
  Flag& end = args.add("lr_scheduler.end_lr", &flags->lr_end, "poly: the learning rate at the end");
  end.default_text = "0";
  end.other_paths = {"learning_rate.decay.end_lr"};
  args.add("lr_scheduler.boundaries", &train.lr_boundaries, "piecewise: iterations").other_paths = {
      "learning_rate.decay.boundaries"};
  args.add("lr_scheduler.values", &train.lr_values, "piecewise: learning rates, one more than boundaries")
      .other_paths = {"learning_rate.decay.values"};
  args.add("warmup-epochs", &train.warmup_epochs, "epochs over which the learning rate grows from 0").path =
      "lr_scheduler.warmup_epochs";
  args.add("lr_scheduler.warmup_iters", &train.warmup_iters, {0, 1 << 30},
           "the same in iterations, from warmup_start_lr");
  args.add("lr_scheduler.warmup_start_lr", &train.warmup_start_lr, "where that begins");
}

void add_loss_flags(Args& args, TrainFlags* flags) {
  Flag& smoothing = args.add("label-smoothing", &flags->label_smoothing,
                             "share of the target that is spread over all classes");
  smoothing.default_text = "0";
  smoothing.below = 1;
  Flag& weights = args.add("class-weights", &flags->class_weights, "auto|W1,W2,...",
                           "weights of the classes in the loss; auto: the rarer a class, the larger");
  weights.set = [flags](const std::string& text) {
    if (text != "auto") parse_weights(text);
    flags->class_weights = text;
  };
  add_loss_keys(args, &flags->loss);
}

void add_training_flags(Args& args, TrainFlags* flags) {
  train::TrainOptions& train = flags->train;
  args.group("Training");
  Flag& batch =
      args.add("batch-size", &flags->batch_size, {0, 1 << 20}, "pictures per step, in each process");
  batch.default_text = "256; segmentation: 1";
  batch.aliases = {"b"};
  batch.path = "batch_size";
  batch.set = [flags, set = batch.set](const std::string& text) {  // 0 stands for what the recipe has
    const std::optional<int> before = flags->batch_size;
    set(text);
    if (flags->batch_size == 0) flags->batch_size = before;
  };
  Flag& epochs = args.add("epochs", &flags->epochs, {0, 1 << 20}, "how many times to go through the data");
  epochs.default_text = "90; segmentation: iters says how long";
  epochs.path = "epochs";
  Flag& iters = args.add("iters", &train.iters, {0, 1 << 30}, "how many steps, in place of epochs");
  iters.set = [&train, set = iters.set](const std::string& text) {  // the same
    const int before = train.iters;
    set(text);
    if (train.iters == 0) train.iters = before;
  };
  iters.default_text = "";
  iters.path = "iters";
  Flag& opt = args.add("opt", &train.opt, "sgd|rmsprop|adamw|adam", "optimiser");
  opt.path = "optimizer.type";
  opt.synonyms = {{"Momentum", "sgd"}, {"momentum", "sgd"}, {"SGD", "sgd"},
                  {"Adam", "adam"},    {"AdamW", "adamw"},  {"RMSProp", "rmsprop"}};
  add_schedule_flags(args, flags);
  Flag& accumulate = args.add("accumulate", &train.accumulate, {1, 1 << 20},
                              "batches per optimiser step: large batches in little memory");
  accumulate.path = "accumulate";
  Flag& clip =
      args.add("clip-grad-norm", &train.clip_grad_norm, "scale gradients down to this norm; 0: don't");
  clip.path = "clip_grad_norm";
  clip.other_paths = {"optimizer.grad_clip_cfg.clip_norm"};
  add_optimizer_keys(args, &train);
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
  add_loss_flags(args, flags);
  args.add("amp-level", &train.amp_level, "O0|O1|O2",
           "mixed precision: O1 computes convolutions and products in 16 bits, O2 nearly everything")
      .path = "amp.level";
  Flag& dtype = args.add("amp-dtype", &train.amp_dtype, "bfloat16|float16", "the 16 bits");
  dtype.default_text = "bfloat16 on the CPU, float16 on a GPU";
  dtype.path = "amp.dtype";
  args.add("precision", &flags->precision, "fp32|fp16",
           "fp16: mixed precision, --amp-level O1 unless that is given; fp32: none");
  args.add_key("fp16", "True|False", "the same as --precision fp16").boolean = true;
  args.at("fp16").default_text = "False";
  args.at("fp16").set = [flags](const std::string& text) {
    const std::optional<bool> on = parse_bool(text);
    if (!on) fail("'{}' is not True or False", text);
    if (*on) flags->precision = "fp16";
  };
  args.add("seed", &flags->seed, {0, 1 << 30}, "seed for everything random").path = "seed";

  args.group("Quantization");
  args.add("pact-quant", &flags->quant.options.enabled,
           "train with the int8 arithmetic of the deployed model in mind")
      .path = "quant.pact_quant";
  Flag& qat = args.add_key("qat", "True|False",
                           "quantization-aware training as PaddleSeg does it: moving averages for "
                           "activations, batch norms not frozen");
  qat.boolean = true;
  qat.default_text = "False";
  qat.set = [flags](const std::string& text) {
    const std::optional<bool> on = parse_bool(text);
    if (!on) fail("'{}' is not True or False", text);
    if (!*on) return;
    flags->quant.options.enabled = true;
    flags->quant.options.freeze_share = 0;
    flags->quant.activation = "none";
  };
  add_quant_flags(args, &flags->quant);
  Flag& scope =
      args.add_key("qat-scope", "all|backbone",
                   "what is quantized; backbone: only that, if the network has one, as PaddleSeg does");
  scope.default_text = "all";
  scope.path = "quant.qat_scope";
  scope.set = [flags](const std::string& text) {
    if (text != "all" && text != "backbone") fail("'{}' is not one of all, backbone", text);
    flags->quant.options.scope = text == "all" ? train::QuantScope::kAll : train::QuantScope::kBackbone;
  };
  scope.get = [flags] {
    const bool is_all = flags->quant.options.scope == train::QuantScope::kAll;
    return std::vector<std::string>{is_all ? "all" : "backbone"};
  };
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
  Flag& output = args.add("output-dir", &flags->output_dir, "DIR", "where checkpoints go");
  output.default_text = ".; segmentation: ./output";
  output.path = "output_dir";
  output.aliases = {"save-dir"};
  args.add("do-eval", &train.do_eval,
           "segmentation: evaluate at every checkpoint, and keep the best in best_model")
      .path = "do_eval";
  args.add("save-interval", &train.save_interval, {1, 1 << 30},
           "segmentation: iterations from one checkpoint to the next")
      .path = "save_interval";
  args.add("keep-checkpoint-max", &train.keep_checkpoint_max, {1, 1 << 20},
           "segmentation: checkpoints that stay")
      .path = "keep_checkpoint_max";
  args.add("names", &train.names, "reference|paddle.vision", "names of the parameters in checkpoints").path =
      "names";
  Flag& print = args.add("print-freq", &train.print_freq, {1, 1 << 20}, "steps between lines of the log");
  print.path = "print_freq";
  print.aliases = {"log-iters"};
  args.add("per-class", &train.per_class, "with --test-only: a table of the classes as well").path =
      "per_class";
  args.add("use-vdl", &train.use_vdl, "write a log for VisualDL, vdlrecords.*.log, too").path = "use_vdl";
  args.add("use-tensorboard", &train.use_tensorboard,
           "write a log for TensorBoard, events.out.tfevents.*, too")
      .path = "use_tensorboard";
}

// A run that is resumed goes by its own recipe, but for what is about one start of it. It goes on in its
// folder.
void take_recipe_of_run(Args& args, TrainFlags* flags, const std::string& resumed) {
  std::error_code error;
  const fs::path path = resumed;
  fs::path folder = fs::is_directory(path, error) ? path : path.parent_path();
  if (folder.filename().empty()) folder = folder.parent_path();
  if (!file_exists(folder / "recipe.yaml") && folder.filename().string().starts_with("iter_"))
    folder = folder.parent_path();
  const fs::path recipe = folder / "recipe.yaml";
  if (!file_exists(recipe)) return;
  load_recipe(args, recipe);
  take_lists_for_flags(flags);
  flags->train.resume.clear();
  flags->train.pretrained.clear();
  flags->train.test_only = flags->train.per_class = false;
  flags->start_epoch.reset();
  flags->output_dir = folder.empty() ? "." : folder.string();
}

// A config for segmentation without a network would be taken for one of the usual classifier.
void check_names_network(Args& args, const TrainFlags& flags) {
  if (args.at("model").in_recipe || flags.train.model != train::TrainOptions().model) return;
  const MaskData& data = flags.segmentation.train;
  const bool has_masks = data.type == "OpticDiscSeg" || data.type == "Cityscapes" || !data.train_path.empty();
  if (flags.train.model_dir.empty() &&
      (has_masks || flags.loss.types.size() > 1 || flags.loss.coef.size() > 1))
    fail("the config has no `model` with a `type`, and there is no --model");
}

// Weights by URL and data sets that octet knows become files and folders.
void fetch_what_is_missing(TrainFlags* flags) {
  train::TrainOptions options = options_of(*flags);
  Console console;
  fetch_missing(options, console);
  flags->train.pretrained = options.pretrained;
  flags->train.backbone_pretrained = options.backbone_pretrained;
  if (options.task != train::TaskKind::kSegmentation) return;
  flags->train.data_path = options.train_masks.root;
  flags->train.val_data_path = options.val_masks.root;
}

}  // namespace

void add_train_flags(Args& args, TrainFlags* flags) {
  add_network_flags(args, flags);
  add_data_flags(args, flags);
  add_training_flags(args, flags);
  add_output_flags(args, flags);
  args.group("PaddleSeg");
  add_segmentation_keys(args, &flags->segmentation, &flags->train);
  args.add_config([flags] { take_lists_for_flags(flags); });
  args.read_first("resume",
                  [&args, flags](const std::string& resumed) { take_recipe_of_run(args, flags, resumed); });
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
  return [flags, &args] {
    check_names_network(args, *flags);
    fetch_what_is_missing(flags.get());
    return start_train("train", make_recipe(args, flags.get()));
  };
}

}  // namespace octet::cli
