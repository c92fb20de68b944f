// MobileNetV1, "Efficient Convolutional Neural Networks for Mobile Vision Applications" (arXiv:1704.04861).
// Parameters have the names that Paddle gives them.
#include <algorithm>

#include "models/layers.h"

namespace octet::models {

namespace {

struct Block {
  const char* name;
  int out, stride;
};

constexpr Block kBlocks[] = {
    {"conv2_1", 64, 1},  {"conv2_2", 128, 2},  {"conv3_1", 128, 1}, {"conv3_2", 256, 2}, {"conv4_1", 256, 1},
    {"conv4_2", 512, 2}, {"conv5_1", 512, 1},  {"conv5_2", 512, 1}, {"conv5_3", 512, 1}, {"conv5_4", 512, 1},
    {"conv5_5", 512, 1}, {"conv5_6", 1024, 2}, {"conv6", 1024, 1},
};

}  // namespace

Graph mobilenet_v1(const ModelOptions& options) {
  // Rounded down to whole channels, not to eights, as Paddle does: its checkpoints of any width fit.
  auto scaled = [&](int channels) {
    return std::max<std::int64_t>(1, static_cast<std::int64_t>(channels * options.width));
  };
  Layers layers(options, {});
  ValueId x = layers.conv_norm(layers.input(), "conv1", {.out = scaled(32), .stride = 2}, Activation::kRelu);
  for (const Block& block : kBlocks) {
    const std::int64_t in = layers.channels(x);
    const std::string name = block.name;
    x = layers.conv_norm(x, name + "._depthwise_conv", {.out = in, .stride = block.stride, .groups = in},
                         Activation::kRelu);
    x = layers.conv_norm(x, name + "._pointwise_conv", {.out = scaled(block.out), .kernel = 1},
                         Activation::kRelu);
  }
  x = layers.pool_and_flatten(x);
  x = layers.linear(x, "fc", random_normal({layers.channels(x), options.num_classes}, 0.01, layers.random()));
  return layers.build(x);
}

}  // namespace octet::models
