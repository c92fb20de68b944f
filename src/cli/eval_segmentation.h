#pragma once
#include "cli/model_flags.h"
#include "cli/segment_flags.h"
#include "train/options.h"

namespace octet::cli {

struct SegmentationEvaluation {
  train::TrainOptions config;
  ModelFlags model;     // checkpoints or models for inference
  ModelFlags baseline;  // without a path: none
  SegmentFlags segment;
  RuntimeFlags runtime;
  std::optional<int> pictures;  // at most so many
  std::string json;             // a file; empty: none
};

// `octet eval --config`: how well the masks of val_dataset are found, and beside a baseline how much that and
// the answers change.
int evaluate_segmentation(const SegmentationEvaluation& options);

}  // namespace octet::cli
