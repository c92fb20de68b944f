#pragma once
#include "cli/model_flags.h"
#include "data/transform.h"

namespace octet::cli {

struct SegmentationInference {
  std::string path;  // of the model, for messages
  Model model;
  Config config;
  Transforms transforms;
  std::string img_path, save_dir;
  int batch_size = 1, warmup = 0;
  bool benchmark = false;
};

// `octet infer` with a segmentation model: a palette PNG of the classes, as large as the model's output, for
// each picture.
int infer_segmentation(const SegmentationInference& options);

}  // namespace octet::cli
