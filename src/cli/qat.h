#pragma once
#include <optional>
#include <string>

#include "cli/args.h"
#include "cli/model_flags.h"
#include "cli/preprocess_flags.h"
#include "cli/quant_flags.h"
#include "train/options.h"

// What `octet qat` takes, as cli/train.h has it for `octet train`.
namespace octet::cli {

struct QatFlags {
  QatFlags();

  ModelFlags model;
  PreprocessFlags preprocess;
  QuantFlags quant;
  train::DistillOptions distill;
  std::optional<int> threads;
  int seed = 0;
  double lr = 0;  // 0: by the number of bits
};

void add_qat_flags(Args& args, QatFlags* flags);
train::DistillOptions options_of(const QatFlags& flags);
std::string make_recipe(Args& args, QatFlags* flags);
train::DistillOptions read_distill_options(const std::string& recipe, const std::string& name);

}  // namespace octet::cli
