#pragma once
#include "train/options.h"

namespace octet::train {

// Makes the folder that a run writes to, with the recipe (recipe.yaml), the preprocessing and the names of
// the classes (deploy.yaml) of what will be there.
void prepare_run_folder(const TrainOptions& options, const std::vector<std::string>& class_names);

}  // namespace octet::train
