#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "cli/args.h"
#include "data/transform.h"

// Recipes: YAML documents that say what `octet train` and `octet qat` do, with the keys of PaddleSeg's
// configs. The schema is the flags of the command: each row has a path (Flag::path), a check, a default and a
// help. docs/recipe.md lists them.
//
//   _base_: ../imagenet.yaml
//   model: {type: resnet18, num_classes: 10}
//   optimizer: {type: sgd, momentum: 0.9}
//   batch_size: 64
//
// At the top also flags stand, by their names: `lr: 0.1`.
namespace octet::cli {

// Sets what the file says, and the files that it is based on: `_base_` is a path beside the file, or a list
// of them, of which the first ones win; mappings are merged, unless `_inherited_: False` is in them, and all
// else is replaced. Each of `opts`, "optimizer.momentum=0.8" or
// "train_dataset.transforms.0.target_size=[64,64]", then takes the place of a value; without a file there are
// only these. Errors name the file and the line.
void load_recipe(Args& args, const std::filesystem::path& file, const std::vector<std::string>& opts = {});

// The same for a text, which errors call `name`.
void read_recipe(Args& args, const std::string& text, const std::string& name);

// A key that holds a list of transforms.
void add_transforms(Args& args, std::string path, Transforms* list, bool random_allowed, std::string help);

// All that is set, as a document that read_recipe() reads.
std::string write_recipe(Args& args);

}  // namespace octet::cli
