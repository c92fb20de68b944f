// MobileNetV2, "Inverted Residuals and Linear Bottlenecks" (arXiv:1801.04381). Parameters have the names that
// torchvision and Paddle give them.
#include <algorithm>

#include "models/layers.h"

namespace octet::models {

namespace {

struct Stage {
  int expansion, out, count, stride;
};

constexpr Stage kStages[] = {{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
                             {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};

ValueId inverted_residual(Layers& layers, ValueId x, const std::string& name, int expansion, std::int64_t out,
                          std::int64_t stride) {
  const std::int64_t in = layers.channels(x), inner = in * expansion;
  int part = 0;
  auto next_name = [&] { return fmt::format("{}.conv.{}", name, part++); };
  ValueId y = x;
  if (expansion != 1) y = layers.conv_norm(y, next_name(), {.out = inner, .kernel = 1}, Activation::kRelu6);
  y = layers.conv_norm(y, next_name(), {.out = inner, .stride = stride, .groups = inner}, Activation::kRelu6);
  y = layers.conv(y, next_name(), {.out = out, .kernel = 1});
  y = layers.batch_norm(y, next_name());
  return stride == 1 && in == out ? layers.builder().add(x, y) : y;
}

}  // namespace

Graph mobilenet_v2(const ModelOptions& options) {
  Layers layers(options, {});
  ValueId x = layers.input();
  x = layers.conv_norm(x, "features.0", {.out = make_divisible(32 * options.width), .stride = 2},
                       Activation::kRelu6);
  int index = 1;
  for (const Stage& stage : kStages)
    for (int i = 0; i < stage.count; ++i)
      x = inverted_residual(layers, x, fmt::format("features.{}", index++), stage.expansion,
                            make_divisible(stage.out * options.width), i == 0 ? stage.stride : 1);
  // The last layer is not made narrower, or a small network would lose more than it gains.
  const std::int64_t last = make_divisible(1280 * std::max(1.0, options.width));
  x = layers.conv_norm(x, fmt::format("features.{}", index), {.out = last, .kernel = 1}, Activation::kRelu6);
  x = layers.builder().dropout(layers.pool_and_flatten(x), 0.2);
  x = layers.linear(x, "classifier.1", random_normal({last, options.num_classes}, 0.01, layers.random()));
  return layers.build(x);
}

}  // namespace octet::models
