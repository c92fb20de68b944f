#pragma once
#include <optional>
#include <string>

#include "cli/args.h"
#include "train/options.h"

// The keys of recipes that are for segmentation, as PaddleSeg's configs have them.
namespace octet::cli {

struct SegmentationKeys {
  std::optional<std::string> task;
  std::string version = "2.2";  // of PaddleSeg
  std::string backbone;         // of PaddleSeg's names: ResNet50_vd
  std::optional<int> output_stride;
  MaskData train, val = {.type = "", .mode = "val"};  // val's type, classes: those of train, if it has none
  std::optional<bool> flip_horizontal;
};

void add_segmentation_keys(Args& args, SegmentationKeys* keys, train::TrainOptions* train);

// The name in the zoo of a network that a recipe calls by PaddleSeg's name, such as DeepLabV3P with the
// backbone ResNet50_vd; other names stay as they are.
std::string network_of(const std::string& type, const SegmentationKeys& keys);

// What they mean together with the rest, once `train` has that.
void set_segmentation(const SegmentationKeys& keys, train::TrainOptions& train);

}  // namespace octet::cli
