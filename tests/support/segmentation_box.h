#pragma once
#include "data/deploy_yaml.h"
#include "data/mask.h"
#include "data/transforms/normalize.h"
#include "models/inference.h"
#include "support/sandbox.h"

namespace octet {

// A segmentation network that can be checked by hand: pixels with more red than green are class 1. It gives
// scores, or with `argmax` classes.
inline Graph red_segmenter(bool argmax) {
  Builder b;
  ValueId x = b.input("x", {kUnknown, 3, kUnknown, kUnknown});
  ValueId weight = b.constant("conv.weight", Tensor::of<float>({2, 3, 1, 1}, {-1, 1, 0, 1, -1, 0}));
  ValueId y = b.conv2d(x, weight);
  if (argmax) y = b.arg_max(y, 1);
  b.rename(y, "y");
  return b.build({y});
}

// A picture with a red disc, and its mask.
inline Image disc_picture(int width, int height, int cx, int cy, int radius, Mask* mask) {
  Image image = plain_image(width, height, {60, 90, 70});
  *mask = Mask(width, height);
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) {
      const bool is_inside = (x - cx) * (x - cx) + (y - cy) * (y - cy) <= radius * radius;
      mask->row(y)[x] = is_inside;
      if (is_inside) image.row(y)[3 * x] = 200;
    }
  return image;
}

// Adds to a folder in which commands work
//   discs/       six pictures of a red disc with masks, in OpticDiscSeg's layout: four to train on
//   disc.yml     a config for BiSeNetV2 on them
//   bisenet/     model.pdparams: fresh weights of that network
//   segmenter/   a model of two layers that finds red pixels, and gives their classes
//   scorer/      the same, and gives scores
inline void add_segmentation(const TempDir& box) {
  namespace fs = std::filesystem;
  fs::create_directories(box / "discs/JPEGImages");
  fs::create_directories(box / "discs/Annotations");
  std::string train, val;
  for (int i = 0; i < 6; ++i) {
    Mask mask;
    const Image image = disc_picture(48 + 8 * (i % 2), 40, 14 + 4 * i, 20, 6 + i, &mask);
    const std::string name = fmt::format("H{}", i);
    write_file(box / ("discs/JPEGImages/" + name + ".png"), encode_png(image));
    write_file(box / ("discs/Annotations/" + name + ".png"), encode_mask(mask));
    (i < 4 ? train : val) += fmt::format("JPEGImages/{0}.png Annotations/{0}.png\n", name);
  }
  write_file(box / "discs/train_list.txt", train);
  write_file(box / "discs/val_list.txt", val);
  write_file(box / "disc.yml",
             "batch_size: 2\niters: 4\n"
             "train_dataset:\n  type: OpticDiscSeg\n  dataset_root: discs\n  mode: train\n"
             "  transforms: [{type: Normalize}]\n"
             "val_dataset:\n  type: OpticDiscSeg\n  dataset_root: discs\n  mode: val\n"
             "  transforms: [{type: Normalize}]\n"
             "optimizer: {type: sgd, momentum: 0.9, weight_decay: 4.0e-5}\n"
             "lr_scheduler: {type: PolynomialDecay, learning_rate: 0.01, end_lr: 0, power: 0.9}\n"
             "loss:\n  types: [{type: CrossEntropyLoss}]\n  coef: [1, 1, 1, 1, 1]\n"
             "model: {type: BiSeNetV2, pretrained: null}\n");
  fs::create_directory(box / "bisenet");
  save_state_dict(box / "bisenet/model.pdparams",
                  models::to_state_dict(models::build_model("bisenetv2", {.num_classes = 2}), "bisenetv2"));
  for (const bool argmax : {false, true}) {
    const fs::path folder = box / (argmax ? "segmenter" : "scorer");
    save_model(red_segmenter(argmax), folder,
               {.model_file = "model.pdmodel", .weights_file = "model.pdiparams"});
    write_file(folder / "deploy.yaml",
               write_deploy_yaml({Normalize{.mean = {0.5f, 0.5f, 0.5f}, .std = {0.5f, 0.5f, 0.5f}}},
                                 "model.pdmodel", "model.pdiparams"));
  }
}

struct SegmentationBox : Sandbox {
  SegmentationBox() { add_segmentation(*this); }
};

}  // namespace octet
