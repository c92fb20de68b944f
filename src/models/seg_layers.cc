#include "models/seg_layers.h"

namespace octet::models::seg {

ValueId input(Layers& layers, const ModelOptions& options) {
  return layers.builder().input("x", {kUnknown, options.segmentation.in_channels, kUnknown, kUnknown});
}

ValueId size_of(Layers& layers, ValueId image) {
  Builder& b = layers.builder();
  return b.slice(b.op("shape", {image}), {0}, {2}, {4});
}

ValueId resize(Layers& layers, ValueId x, ValueId size, bool align_corners) {
  return layers.builder().op(
      "resize", {x, size},
      {{"mode", "bilinear"}, {"align_corners", align_corners}, {"align_mode", std::int64_t{0}}});
}

ValueId conv_bn(Layers& layers, ValueId x, const std::string& name, const Conv& conv) {
  return layers.batch_norm(layers.conv(x, name + "._conv", conv), name + "._batch_norm");
}

ValueId conv_bn_relu(Layers& layers, ValueId x, const std::string& name, const Conv& conv) {
  return layers.builder().relu(conv_bn(layers, x, name, conv));
}

ValueId depthwise_conv_bn(Layers& layers, ValueId x, const std::string& name, Conv conv) {
  conv.groups = layers.channels(x);
  return conv_bn(layers, x, name + ".depthwise_conv", conv);
}

Graph build(Layers& layers, ValueId picture, const std::vector<ValueId>& scores, bool align_corners) {
  const ValueId size = size_of(layers, picture);
  std::vector<ValueId> outputs;
  for (ValueId score : scores) outputs.push_back(resize(layers, score, size, align_corners));
  return layers.builder().build(outputs);
}

}  // namespace octet::models::seg
