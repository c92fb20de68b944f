#pragma once
#include "cli/args.h"
#include "train/options.h"

namespace octet::cli {

// What a recipe says about gradients and groups of parameters, as PaddleSeg's configs have it:
// optimizer.grad_clip_cfg and optimizer.custom_cfg.
void add_optimizer_keys(Args& args, train::TrainOptions* train);

// An Error when a way to clip lacks its numbers, or has those of another one.
void check_clipping(const train::TrainOptions& train);

}  // namespace octet::cli
