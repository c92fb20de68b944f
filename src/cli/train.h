#pragma once
#include <optional>
#include <string>

#include "cli/args.h"
#include "cli/quant_flags.h"
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
};

void add_train_flags(Args& args, TrainFlags* flags);

// What they mean together; an Error when that makes no sense.
train::TrainOptions options_of(const TrainFlags& flags);

// The recipe that says all this, which is what octet-train gets.
std::string make_recipe(Args& args, TrainFlags* flags);

// The options that a recipe, which errors call `name`, says.
train::TrainOptions read_train_options(const std::string& recipe, const std::string& name);

}  // namespace octet::cli
