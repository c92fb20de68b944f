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

// name.depthwise_conv, then name.piontwise_conv (so spelled), without an activation between them.
ValueId separable_conv_bn_relu(Layers& layers, ValueId x, const std::string& name, const Conv& conv);

// A convolution with a bias that gives the scores, name.
ValueId scores(Layers& layers, ValueId x, const std::string& name, const ModelOptions& options,
               std::int64_t kernel = 1);
// An auxiliary head: name.conv_bn_relu, dropout, name.conv.
ValueId auxiliary_scores(Layers& layers, ValueId x, const std::string& name, const ModelOptions& options);

// For each size of `bins`: means over so many rows and columns of windows, name.stages.N.1, and back to the
// size of x.
std::vector<ValueId> pyramid(Layers& layers, ValueId x, const std::string& name, const std::vector<int>& bins,
                             std::int64_t channels, bool align_corners);

// The stages that a head reads: those that the options say, or the usual ones. An Error when there are other
// than `usual.size()` of them, or a stage is not there.
std::vector<ValueId> chosen_stages(const std::vector<ValueId>& stages, const ModelOptions& options,
                                   const std::vector<int>& usual);

// Main and auxiliary scores, each resized to the picture.
Graph build(Layers& layers, ValueId picture, const std::vector<ValueId>& scores, bool align_corners);

}  // namespace octet::models::seg
