#pragma once
#include "train/options.h"

namespace octet::train {

// Makes the folder that a run writes to, with the recipe (recipe.yaml) and the preprocessing (deploy.yaml) of
// what will be there.
void prepare_run_folder(const TrainOptions& options);

}  // namespace octet::train
