#include "models/seg_layers.h"

#include "base/error.h"

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

ValueId separable_conv_bn_relu(Layers& layers, ValueId x, const std::string& name, const Conv& conv) {
  Conv depthwise = conv;
  depthwise.out = layers.channels(x);
  const ValueId y = depthwise_conv_bn(layers, x, name, depthwise);
  return conv_bn_relu(layers, y, name + ".piontwise_conv", {.out = conv.out, .kernel = 1, .bias = true});
}

ValueId scores(Layers& layers, ValueId x, const std::string& name, const ModelOptions& options,
               std::int64_t kernel) {
  return layers.conv(x, name, {.out = options.num_classes, .kernel = kernel, .bias = true});
}

ValueId auxiliary_scores(Layers& layers, ValueId x, const std::string& name, const ModelOptions& options) {
  const std::int64_t hidden = layers.channels(x) / 4;
  const ValueId y = conv_bn_relu(layers, x, name + ".conv_bn_relu", {.out = hidden, .bias = true});
  return scores(layers, layers.builder().dropout(y, 0.1), name + ".conv", options);
}

std::vector<ValueId> pyramid(Layers& layers, ValueId x, const std::string& name, const std::vector<int>& bins,
                             std::int64_t channels, bool align_corners) {
  const ValueId size = size_of(layers, x);
  std::vector<ValueId> result;
  for (std::int64_t bin : bins) {
    const ValueId means = layers.builder().adaptive_avg_pool(x, {bin, bin});
    const ValueId y = conv_bn_relu(layers, means, fmt::format("{}.stages.{}.1", name, result.size()),
                                   {.out = channels, .kernel = 1, .bias = true});
    result.push_back(resize(layers, y, size, align_corners));
  }
  return result;
}

std::vector<ValueId> chosen_stages(const std::vector<ValueId>& stages, const ModelOptions& options,
                                   const std::vector<int>& usual) {
  const auto& indices =
      options.segmentation.backbone_indices.empty() ? usual : options.segmentation.backbone_indices;
  if (indices.size() != usual.size())
    fail("backbone_indices has {} numbers; this network reads {} stages of its backbone", indices.size(),
         usual.size());
  const auto count = static_cast<std::int64_t>(stages.size());
  std::vector<ValueId> result;
  for (std::int64_t index : indices) {
    const std::int64_t stage = index < 0 ? index + count : index;
    if (stage < 0 || stage >= count)
      fail("backbone_indices has {}; the stages of this backbone are 0 to {}", index, count - 1);
    result.push_back(stages[static_cast<std::size_t>(stage)]);
  }
  return result;
}

Graph build(Layers& layers, ValueId picture, const std::vector<ValueId>& scores, bool align_corners) {
  const ValueId size = size_of(layers, picture);
  std::vector<ValueId> outputs;
  for (ValueId score : scores) outputs.push_back(resize(layers, score, size, align_corners));
  return layers.builder().build(outputs);
}

}  // namespace octet::models::seg
