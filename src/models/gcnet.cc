// GCNet, "Non-local Networks Meet Squeeze-Excitation Networks and Beyond" (arXiv:1904.11492), as PaddleSeg
// has it. Parameters have the names that PaddleSeg gives them.
#include <algorithm>

#include "models/resnet_vd.h"

namespace octet::models {

namespace {

// Adds to each channel what the whole picture says: a mean of all pixels, weighted by attention.
ValueId global_context(Layers& layers, ValueId x, const std::string& name, double ratio) {
  Builder& b = layers.builder();
  const std::int64_t channels = layers.channels(x);
  const auto conv = [&](ValueId y, const std::string& part, std::int64_t out) {
    return layers.conv(y, name + part, {.out = out, .kernel = 1, .bias = true});
  };
  const ValueId pixels = b.unsqueeze(b.reshape(x, {0, channels, -1}), {1});
  const ValueId attention = b.softmax(b.reshape(conv(x, ".conv_mask", 1), {0, 1, -1}), 2);
  const ValueId context = b.reshape(b.matmul(pixels, b.unsqueeze(attention, {3})), {0, channels, 1, 1});
  const std::int64_t hidden =
      std::max<std::int64_t>(static_cast<std::int64_t>(static_cast<double>(channels) * ratio), 1);
  ValueId y = conv(context, ".channel_add_conv.0", hidden);
  const ValueId scale = b.constant(name + ".channel_add_conv.1.weight", filled({hidden}, 1));
  const ValueId bias = b.constant(name + ".channel_add_conv.1.bias", filled({hidden}, 0));
  y = b.relu(b.layer_norm(y, scale, bias, 1));
  return b.add(x, conv(y, ".channel_add_conv.3", channels));
}

Graph gcnet(const ModelOptions& options, std::int64_t output_stride) {
  Layers layers(options, {.deviation = fan_in});
  Builder& b = layers.builder();
  const Conv conv{.out = layers.scaled(options.segmentation.gc_channels), .bias = true};
  const ValueId picture = seg::input(layers, options);
  const auto stages =
      seg::chosen_stages(resnet50_vd(layers, picture, options, output_stride), options, {2, 3});
  ValueId x = seg::conv_bn_relu(layers, stages[1], "head.conv_bn_relu1", conv);
  x = global_context(layers, x, "head.gc_block", options.segmentation.ratio);
  x = seg::conv_bn_relu(layers, x, "head.conv_bn_relu2", conv);
  x = seg::conv_bn_relu(layers, b.concat({stages[1], x}, 1), "head.conv_bn_relu3", conv);
  std::vector<ValueId> scores = {seg::scores(layers, b.dropout(x, 0.1), "head.conv", options)};
  if (options.segmentation.enable_auxiliary_loss)
    scores.push_back(seg::auxiliary_scores(layers, stages[0], "head.auxlayer", options));
  return seg::build(layers, picture, scores, options.segmentation.align_corners);
}

}  // namespace

Graph gcnet_resnet50_os8(const ModelOptions& options) {
  return gcnet(options, 8);
}
Graph gcnet_resnet50_os16(const ModelOptions& options) {
  return gcnet(options, 16);
}

}  // namespace octet::models
