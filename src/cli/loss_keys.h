#pragma once
#include <string>
#include <vector>

#include "cli/args.h"
#include "train/options.h"

namespace octet::cli {

// What a recipe says about the loss: `types`, each of which is a map with its type and settings, and `coef`,
// a factor for each.
struct LossKeys {
  std::vector<train::LossSpec> types = {{}};
  std::vector<double> coef = {};  // none: 1 for each
};

void add_loss_keys(Args& args, LossKeys* loss);

// A loss for each factor: a single type stands for all of them.
std::vector<train::LossSpec> losses_of(const LossKeys& loss);

// The keys that say this.
LossKeys keys_of(const std::vector<train::LossSpec>& losses);

}  // namespace octet::cli
