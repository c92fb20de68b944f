#pragma once
#include <string>

#include "octet/model.h"

namespace octet::cli {

// A network of the zoo by its name, with random weights and as it is exported, or the model at a path.
Model named_model(const std::string& name_or_path, const LoadOptions& files);

// A float model as int8, made in a hurry, of random numbers: as fast as one that is made with care, and of no
// other use.
Model hasty_int8(const Model& model, int threads);

}  // namespace octet::cli
