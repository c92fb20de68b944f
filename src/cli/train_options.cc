#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/error.h"
#include "cli/optimizer_keys.h"
#include "cli/recipe.h"
#include "cli/train.h"
#include "data/transforms/auto_augment.h"
#include "data/transforms/color_jitter.h"
#include "data/transforms/flip.h"
#include "data/transforms/random_crop.h"
#include "data/transforms/random_erasing.h"
#include "data/transforms/resize.h"
#include "models/models.h"

namespace octet::cli {

namespace {

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
  if (train.task == train::TaskKind::kSegmentation) {
    if (train.train_transforms.empty()) fail("the config has no train_dataset.transforms");
    if (train.val_transforms.empty()) train.val_transforms = {Normalize{}};
    if (train.export_transforms.empty()) train.export_transforms = {*find<Normalize>(train.val_transforms)};
    return;
  }
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

// Weights and smoothing, which flags may say.
void set_loss(const TrainFlags& flags, train::TrainOptions& train) {
  if (flags.label_smoothing) train.losses[0].label_smoothing = *flags.label_smoothing;
  if (flags.class_weights) {
    for (train::LossSpec& loss : train.losses) {
      const bool is_auto = *flags.class_weights == "auto";
      loss.balance = is_auto ? "auto" : "";
      loss.weight = is_auto ? std::vector<double>() : parse_weights(*flags.class_weights);
    }
  }
  if (train.task == train::TaskKind::kSegmentation) {
    for (const train::LossSpec& loss : train.losses)
      if (loss.balance == "auto" || loss.label_smoothing > 0)
        fail("loss: weights that are `auto`, and label smoothing, are for classifiers");
    return;
  }
  if (train.losses.size() != 1) fail("loss.types.1: a classifier has one output, and so one loss");
  train::LossSpec& loss = train.losses[0];
  if (loss.type != "CrossEntropyLoss" || loss.coef != 1)
    fail("loss.types.0: a classifier has CrossEntropyLoss with a coef of 1, and not {}", loss.type);
  train.label_smoothing = loss.label_smoothing;
  train.auto_class_weights = loss.balance == "auto";
  train.class_weights = loss.weight;
}

void check_classification(const SegmentationKeys& keys) {
  const auto check_data = [](const MaskData& data, const char* name, const std::string& mode) {
    if (data.mode != mode)
      fail("{}.mode: '{}' is not {}, the only one for classification", name, data.mode, mode);
    if (!data.type.empty() && data.type != "Dataset")
      fail("{}.type: {} has masks, for segmentation, and the network is a classifier", name, data.type);
    if (data != MaskData{.type = data.type, .mode = mode})
      fail("{}: lists of masks and their classes are for segmentation, and the network is a classifier",
           name);
  };
  check_data(keys.train, "train_dataset", "train");
  check_data(keys.val, "val_dataset", "val");
}

}  // namespace

std::vector<double> parse_weights(const std::string& text) {
  std::vector<double> weights;
  for (const std::string& part : split(text, ", ")) {
    double weight = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), weight);
    if (error != std::errc() || end != part.data() + part.size() || !std::isfinite(weight) || weight <= 0)
      fail("'{}' is not auto, and no list of numbers above 0, such as 1,2.5,1", text);
    weights.push_back(weight);
  }
  return weights;
}

void take_lists_for_flags(TrainFlags* flags) {
  Transforms &train = flags->train.train_transforms, &val = flags->train.val_transforms;
  const std::optional<TrainingPictures> pictures = pictures_of(train);
  if (!pictures || (!val.empty() && val != evaluation_transforms(*pictures))) return;
  if (flags->img_size.value_or(pictures->size) != pictures->size) return;
  flags->pictures = *pictures;
  train.clear();
  val.clear();
}

train::TrainOptions options_of(const TrainFlags& flags) {
  train::TrainOptions train = flags.train;
  const bool is_new = flags.segmentation.version == "2.9";
  train.paddleseg = is_new ? train::PaddleSeg::k2_9 : train::PaddleSeg::k2_2;
  train.model = network_of(train.model, flags.segmentation);
  const bool is_of_zoo = train.model_dir.empty();
  const bool segments = flags.segmentation.task
                            ? *flags.segmentation.task == "segmentation"
                            : is_of_zoo && models::task_of(train.model) == models::Task::kSegmentation;
  train.task = segments ? train::TaskKind::kSegmentation : train::TaskKind::kClassification;
  if (is_of_zoo) models::check_model_name(train.model);
  if (!train.pretrained.empty() && !train.resume.empty())
    fail("--pretrained and --resume can't go together: a resumed run has its weights already");
  if (flags.precision == "fp16" && train.amp_level.empty()) train.amp_level = "O1";
  if (train.amp_level == "O0" || flags.precision == "fp32") train.amp_level.clear();
  train.num_classes = flags.num_classes.value_or(0);
  train.workers = flags.workers.value_or(-1);
  train.start_epoch = flags.start_epoch.value_or(-1);
  train.threads = flags.threads.value_or(0);
  train.seed = static_cast<std::uint64_t>(flags.seed);

  const train::TrainOptions defaults;
  train.batch_size = flags.batch_size.value_or(segments ? 1 : defaults.batch_size);
  train.epochs = flags.epochs.value_or(segments ? 0 : defaults.epochs);
  train.lr = flags.lr.value_or(defaults.lr);
  // From 2.8 on sgd without a momentum has none.
  const bool is_plain = segments && is_new && train.opt == "sgd";
  train.momentum = flags.momentum.value_or(is_plain ? 0 : defaults.momentum);
  train.weight_decay = flags.weight_decay.value_or(segments ? 0 : defaults.weight_decay);
  train.lr_schedule = flags.lr_schedule.value_or(segments ? "constant" : defaults.lr_schedule);
  train.lr_power = flags.lr_power.value_or(is_new ? 1.0 : defaults.lr_power);
  train.lr_end = flags.lr_end.value_or(is_new ? 1e-4 : defaults.lr_end);
  train.output_dir = flags.output_dir.value_or(segments ? "./output" : defaults.output_dir);
  if (train.lr_schedule == "piecewise" && train.lr_values.size() != train.lr_boundaries.size() + 1)
    fail("lr_scheduler: {} values for {} boundaries; there must be one more", train.lr_values.size(),
         train.lr_boundaries.size());

  check_clipping(train);
  train.losses = losses_of(flags.loss);
  set_loss(flags, train);
  set_transforms(flags, train);
  if (segments) {
    if (train.iters == 0 && !flags.epochs) fail("how long is the run? Give iters in the config, or --iters");
    if (!flags.lr && train.lr_schedule != "piecewise")
      fail("there is no learning rate; give lr_scheduler.learning_rate in the config, or --learning_rate");
    set_segmentation(flags.segmentation, train);
  } else {
    check_classification(flags.segmentation);
  }
  train.quant = options_of(flags.quant);
  return train;
}

std::string make_recipe(Args& args, TrainFlags* flags) {
  const train::TrainOptions train = options_of(*flags);
  flags->train = train;
  flags->segmentation.output_stride.reset();  // the network's name has it now
  flags->segmentation.backbone.clear();
  flags->img_size = train.img_size;
  flags->batch_size = train.batch_size;
  if (train.iters == 0) flags->epochs = train.epochs;
  flags->lr = train.lr;
  flags->momentum = train.momentum;
  flags->weight_decay = train.weight_decay;
  flags->lr_schedule = train.lr_schedule;
  flags->lr_power = train.lr_power;
  flags->lr_end = train.lr_end;
  flags->output_dir = train.output_dir;
  flags->loss = keys_of(train.losses);
  return write_recipe(args);
}

train::TrainOptions load_config(const std::string& file, const std::vector<std::string>& opts) {
  TrainFlags flags;
  Args args("train", "");
  add_train_flags(args, &flags);
  load_recipe(args, file, opts);
  if (!args.at("model").in_recipe) fail("{}: the config has no `model` with a `type`", file);
  take_lists_for_flags(&flags);
  return options_of(flags);
}

}  // namespace octet::cli
