#pragma once
#include <string>
#include <vector>

#include "models/layers.h"

// The blocks that PaddleSeg's networks are made of, with its names of their parameters.
namespace octet::models::seg {

// A picture of any size.
ValueId input(Layers& layers, const ModelOptions& options);

// The size of an image, to resize others to; one node reads it, however many want it.
ValueId size_of(Layers& layers, ValueId image);
ValueId resize(Layers& layers, ValueId x, ValueId size, bool align_corners);

// name._conv, name._batch_norm, and for conv_bn_relu a ReLU.
ValueId conv_bn(Layers& layers, ValueId x, const std::string& name, const Conv& conv);
ValueId conv_bn_relu(Layers& layers, ValueId x, const std::string& name, const Conv& conv);
// name.depthwise_conv: each input channel for itself; conv.out is a multiple of the inputs.
ValueId depthwise_conv_bn(Layers& layers, ValueId x, const std::string& name, Conv conv);

// Main and auxiliary scores, each resized to the picture.
Graph build(Layers& layers, ValueId picture, const std::vector<ValueId>& scores, bool align_corners);

}  // namespace octet::models::seg
