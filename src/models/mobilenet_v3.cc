// MobileNetV3, "Searching for MobileNetV3" (arXiv:1905.02244). Parameters have the names of torchvision's
// network.
#include "models/layers.h"

namespace octet::models {

namespace {

constexpr Activation kRelu = Activation::kRelu, kHardSwish = Activation::kHardSwish;

struct Block {
  std::int64_t kernel, expanded, out;
  bool squeezes;  // has a squeeze-and-excite
  Activation activation;
  std::int64_t stride;
};

constexpr Block kSmall[] = {
    {3, 16, 16, true, kRelu, 2},       {3, 72, 24, false, kRelu, 2},      {3, 88, 24, false, kRelu, 1},
    {5, 96, 40, true, kHardSwish, 2},  {5, 240, 40, true, kHardSwish, 1}, {5, 240, 40, true, kHardSwish, 1},
    {5, 120, 48, true, kHardSwish, 1}, {5, 144, 48, true, kHardSwish, 1}, {5, 288, 96, true, kHardSwish, 2},
    {5, 576, 96, true, kHardSwish, 1}, {5, 576, 96, true, kHardSwish, 1},
};

constexpr Block kLarge[] = {
    {3, 16, 16, false, kRelu, 1},       {3, 64, 24, false, kRelu, 2},
    {3, 72, 24, false, kRelu, 1},       {5, 72, 40, true, kRelu, 2},
    {5, 120, 40, true, kRelu, 1},       {5, 120, 40, true, kRelu, 1},
    {3, 240, 80, false, kHardSwish, 2}, {3, 200, 80, false, kHardSwish, 1},
    {3, 184, 80, false, kHardSwish, 1}, {3, 184, 80, false, kHardSwish, 1},
    {3, 480, 112, true, kHardSwish, 1}, {3, 672, 112, true, kHardSwish, 1},
    {5, 672, 160, true, kHardSwish, 2}, {5, 960, 160, true, kHardSwish, 1},
    {5, 960, 160, true, kHardSwish, 1},
};

ValueId squeeze_and_excite(Layers& layers, ValueId x, const std::string& name) {
  Builder& b = layers.builder();
  const std::int64_t channels = layers.channels(x);
  ValueId mean = b.adaptive_avg_pool(x, {1, 1});
  std::int64_t squeezed = make_divisible(static_cast<double>(channels / 4));
  ValueId hidden = b.relu(layers.conv(mean, name + ".fc1", {.out = squeezed, .kernel = 1, .bias = true}));
  ValueId scores = layers.conv(hidden, name + ".fc2", {.out = channels, .kernel = 1, .bias = true});
  return b.mul(b.hard_sigmoid(scores, 0.1666667, 0.5), x);  // a sixth, as Paddle writes it
}

ValueId inverted_residual(Layers& layers, ValueId x, const std::string& name, const Block& block,
                          double width) {
  const std::int64_t expanded = make_divisible(width * static_cast<double>(block.expanded));
  const std::int64_t out = make_divisible(width * static_cast<double>(block.out));
  int part = 0;
  auto next_name = [&] { return fmt::format("{}.block.{}", name, part++); };
  ValueId y = x;
  if (expanded != layers.channels(x))
    y = layers.conv_norm(y, next_name(), {.out = expanded, .kernel = 1}, block.activation);
  y = layers.conv_norm(y, next_name(),
                       {.out = expanded, .kernel = block.kernel, .stride = block.stride, .groups = expanded},
                       block.activation);
  if (block.squeezes) y = squeeze_and_excite(layers, y, next_name());
  y = layers.conv_norm(y, next_name(), {.out = out, .kernel = 1}, Activation::kNone);
  bool residual = block.stride == 1 && out == layers.channels(x);
  return residual ? layers.builder().add(x, y) : y;
}

Graph mobilenet_v3(const ModelOptions& options, std::span<const Block> blocks, double hidden) {
  Layers layers(options, {.epsilon = 0.001, .momentum = 0.99});
  ValueId x = layers.input();
  x = layers.conv_norm(x, "features.0", {.out = make_divisible(16 * options.width), .stride = 2}, kHardSwish);
  std::size_t index = 1;
  for (const Block& block : blocks)
    x = inverted_residual(layers, x, fmt::format("features.{}", index++), block, options.width);
  x = layers.conv_norm(x, fmt::format("features.{}", index), {.out = 6 * layers.channels(x), .kernel = 1},
                       kHardSwish);
  x = layers.pool_and_flatten(x);
  const std::int64_t hidden_units = make_divisible(hidden * options.width);
  x = layers.linear(x, "classifier.0",
                    random_normal({layers.channels(x), hidden_units}, 0.01, layers.random()));
  x = layers.builder().dropout(layers.activate(x, kHardSwish), 0.2);
  x = layers.linear(x, "classifier.3",
                    random_normal({hidden_units, options.num_classes}, 0.01, layers.random()));
  return layers.build(x);
}

}  // namespace

Graph mobilenet_v3_small(const ModelOptions& options) {
  return mobilenet_v3(options, kSmall, 1024);
}
Graph mobilenet_v3_large(const ModelOptions& options) {
  return mobilenet_v3(options, kLarge, 1280);
}

}  // namespace octet::models
