// DeepLabV3, "Rethinking Atrous Convolution for Semantic Image Segmentation" (arXiv:1706.05587), and
// DeepLabV3+, "Encoder-Decoder with Atrous Separable Convolution" (arXiv:1802.02611), as PaddleSeg has them.
// Parameters have the names that PaddleSeg gives them.
#include "models/resnet_vd.h"

namespace octet::models {

namespace {

// Atrous spatial pyramid pooling: the image through convolutions of several dilations, and its mean.
ValueId aspp(Layers& layers, ValueId x, const SegmentationOptions& options, bool separable) {
  const std::string name = "head.aspp";
  const std::int64_t out = layers.scaled(options.aspp_out_channels);
  Builder& b = layers.builder();
  std::vector<ValueId> parts;
  for (std::int64_t ratio : options.aspp_ratios) {
    const std::string block = fmt::format("{}.aspp_blocks.{}", name, parts.size());
    const Conv conv{.out = out, .kernel = ratio == 1 ? 1 : 3, .dilation = ratio, .bias = true};
    parts.push_back(separable && ratio > 1 ? seg::separable_conv_bn_relu(layers, x, block, conv)
                                           : seg::conv_bn_relu(layers, x, block, conv));
  }
  const ValueId mean = seg::conv_bn_relu(layers, b.adaptive_avg_pool(x, {1, 1}), name + ".global_avg_pool.1",
                                         {.out = out, .kernel = 1});
  parts.push_back(seg::resize(layers, mean, seg::size_of(layers, x), options.align_corners));
  const ValueId y = seg::conv_bn_relu(layers, b.concat(parts, 1), name + ".conv_bn_relu",
                                      {.out = out, .kernel = 1, .bias = true});
  return b.dropout(y, 0.1);
}

Graph deeplabv3(const ModelOptions& options, std::int64_t output_stride) {
  Layers layers(options, {.deviation = fan_in});
  const ValueId picture = seg::input(layers, options);
  const auto stages = seg::chosen_stages(resnet50_vd(layers, picture, options, output_stride), options, {3});
  const ValueId x = aspp(layers, stages[0], options.segmentation, false);
  return seg::build(layers, picture, {seg::scores(layers, x, "head.cls", options)},
                    options.segmentation.align_corners);
}

Graph deeplabv3p(const ModelOptions& options, std::int64_t output_stride) {
  Layers layers(options, {.deviation = fan_in});
  const bool align = options.segmentation.align_corners;
  const std::string name = "head.decoder";
  const ValueId picture = seg::input(layers, options);
  const auto stages =
      seg::chosen_stages(resnet50_vd(layers, picture, options, output_stride), options, {0, 3});
  const ValueId deep = aspp(layers, stages[1], options.segmentation, true);
  const ValueId low = seg::conv_bn_relu(layers, stages[0], name + ".conv_bn_relu1",
                                        {.out = layers.scaled(48), .kernel = 1, .bias = true});
  ValueId x = seg::resize(layers, deep, seg::size_of(layers, low), align);
  x = layers.builder().concat({x, low}, 1);
  for (const char* part : {".conv_bn_relu2", ".conv_bn_relu3"})
    x = seg::separable_conv_bn_relu(layers, x, name + part, {.out = layers.scaled(256), .bias = true});
  return seg::build(layers, picture, {seg::scores(layers, x, name + ".conv", options)}, align);
}

}  // namespace

Graph deeplabv3_resnet50_os8(const ModelOptions& options) {
  return deeplabv3(options, 8);
}
Graph deeplabv3_resnet50_os16(const ModelOptions& options) {
  return deeplabv3(options, 16);
}
Graph deeplabv3p_resnet50_os8(const ModelOptions& options) {
  return deeplabv3p(options, 8);
}
Graph deeplabv3p_resnet50_os16(const ModelOptions& options) {
  return deeplabv3p(options, 16);
}

}  // namespace octet::models
