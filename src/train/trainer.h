#pragma once
#include <atomic>

#include "base/reporter.h"
#include "comm/comm.h"
#include "train/options.h"

namespace octet::train {

enum class Outcome { kDone, kStopped };

// Trains, evaluates and saves as the options say; every process of `comm` calls it. When `stop` becomes true
// in one of them, all save latest.* after the step that they are in, and stop.
Outcome train(const TrainOptions& options, Comm& comm, Reporter& reporter, const std::atomic<bool>& stop);

}  // namespace octet::train
