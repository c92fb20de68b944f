#pragma once
#include <optional>
#include <string>

#include "cli/args.h"
#include "train/options.h"

namespace octet::cli {

// The flags of quantization-aware training.
struct QuantFlags {
  train::QuantOptions options;
  std::string activation = "PACT", weight = "none", weight_type = "channel_wise_abs_max",
              activation_type = "moving_average_abs_max", layer_types = "Conv2D,Linear", pact_init = "auto";
  std::optional<std::string> keep_8bit;
};

void add_quant_flags(Args& args, QuantFlags* flags);
train::QuantOptions options_of(const QuantFlags& flags);

}  // namespace octet::cli
