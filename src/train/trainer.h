#pragma once
#include "comm/comm.h"
#include "train/options.h"

namespace octet::train {

// `octet train`. Returns the exit code.
int train(const TrainOptions& options, Comm& comm);

}  // namespace octet::train
