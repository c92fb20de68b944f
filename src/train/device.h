#pragma once
#include <string>

#include "base/reporter.h"
#include "comm/comm.h"
#include "train/options.h"
#include "train/precision.h"

namespace octet::train {

// The device that --device means. In `auto`, and with several GPUs and processes, each process takes one of
// its own.
at::Device choose_device(const std::string& text, const Comm& comm, Reporter* reporter = nullptr);

// What --amp_level and --amp_dtype mean on a device.
Precision choose_precision(const TrainOptions& options, at::Device device);

}  // namespace octet::train
