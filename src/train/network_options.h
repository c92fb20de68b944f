#pragma once
#include "models/models.h"
#include "train/options.h"

// No libtorch here: `octet export` and others build networks, too.
namespace octet::train {

// What a config says of a segmentation network, where it says more than its name.
models::SegmentationOptions segmentation_options(const NetworkOptions& options);

}  // namespace octet::train
