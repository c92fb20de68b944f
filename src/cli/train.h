#pragma once
#include <optional>
#include <string>

#include "cli/args.h"
#include "cli/loss_keys.h"
#include "cli/quant_flags.h"
#include "cli/segmentation_keys.h"
#include "data/classification.h"
#include "train/options.h"

// What `octet train` takes: the flags of the command line and the keys of its recipe are one table, which
// add_train_flags() makes. `octet` reads flags and files, and hands what they say to octet-train as one
// recipe.
namespace octet::cli {

// What the rows of that table set.
struct TrainFlags {
  train::TrainOptions train;
  TrainingPictures pictures;  // the usual transforms, where the recipe lists none
  std::optional<std::string> interpolation;
  std::optional<std::array<float, 3>> mean, std;
  std::optional<int> img_size, workers, start_epoch, num_classes, threads;
  int seed = 0;
  QuantFlags quant;
  SegmentationKeys segmentation;
  LossKeys loss;
  std::optional<std::string> class_weights;  // in place of the loss's
  std::optional<double> label_smoothing;
  std::string precision;  // fp32, fp16; empty: not given
  // What a classifier has by default is not what PaddleSeg has.
  std::optional<int> batch_size, epochs;
  std::optional<double> lr, momentum, weight_decay, lr_power, lr_end;
  std::optional<std::string> lr_schedule, output_dir;
};

void add_train_flags(Args& args, TrainFlags* flags);

// What they mean together; an Error when that makes no sense.
train::TrainOptions options_of(const TrainFlags& flags);

// Between a recipe and the flags of the command line: lists that flags could have made are taken for those
// flags, so that others can change them.
void take_lists_for_flags(TrainFlags* flags);

// Weights of classes, a number for each: "1,2.5".
std::vector<double> parse_weights(const std::string& text);

// The recipe that says all this, which is what octet-train gets.
std::string make_recipe(Args& args, TrainFlags* flags);

// What a config says, for commands other than training: eval, export, predict, ptq. `opts` are KEY=VALUE, as
// in load_recipe().
train::TrainOptions load_config(const std::string& file, const std::vector<std::string>& opts = {});

// The options that a recipe, which errors call `name`, says.
train::TrainOptions read_train_options(const std::string& recipe, const std::string& name);

}  // namespace octet::cli
