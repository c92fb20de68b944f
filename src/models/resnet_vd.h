#pragma once
#include "models/seg_layers.h"

namespace octet::models {

// The four stages of ResNet50_vd, "Bag of Tricks for Image Classification" (arXiv:1812.01187), as PaddleSeg
// has it; parameters are called backbone.conv1_1 and so on. The last stages are dilated in place of halving
// the image once it is an output_stride-th (8 or 16) of the picture.
std::vector<ValueId> resnet50_vd(Layers& layers, ValueId picture, const ModelOptions& options,
                                 std::int64_t output_stride);

}  // namespace octet::models
