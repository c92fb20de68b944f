// PSPNet, "Pyramid Scene Parsing Network" (arXiv:1612.01105), as PaddleSeg has it. Parameters have the names
// that PaddleSeg gives them.
#include <algorithm>

#include "models/resnet_vd.h"

namespace octet::models {

namespace {

Graph pspnet(const ModelOptions& options, std::int64_t output_stride) {
  const SegmentationOptions& o = options.segmentation;
  Layers layers(options, {.deviation = fan_in});
  Builder& b = layers.builder();
  const ValueId picture = seg::input(layers, options);
  const auto stages =
      seg::chosen_stages(resnet50_vd(layers, picture, options, output_stride), options, {2, 3});
  const std::string module = "head.psp_module";
  const std::int64_t each = layers.channels(stages[1]) / static_cast<std::int64_t>(o.bin_sizes.size());
  std::vector<ValueId> parts = seg::pyramid(layers, stages[1], module, o.bin_sizes, each, o.align_corners);
  parts.push_back(stages[1]);
  std::ranges::reverse(parts);
  const ValueId x = seg::conv_bn_relu(layers, b.concat(parts, 1), module + ".conv_bn_relu2",
                                      {.out = layers.scaled(o.pp_out_channels), .bias = true});
  std::vector<ValueId> scores = {seg::scores(layers, b.dropout(x, 0.1), "head.conv", options)};
  if (o.enable_auxiliary_loss)
    scores.push_back(seg::auxiliary_scores(layers, stages[0], "head.auxlayer", options));
  return seg::build(layers, picture, scores, o.align_corners);
}

}  // namespace

Graph pspnet_resnet50_os8(const ModelOptions& options) {
  return pspnet(options, 8);
}
Graph pspnet_resnet50_os16(const ModelOptions& options) {
  return pspnet(options, 16);
}

}  // namespace octet::models
