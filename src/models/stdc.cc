#include "models/stdc.h"

namespace octet::models {

namespace {

double tiny(std::int64_t /*in*/, const Conv& /*conv*/) {
  return 0.001;
}

ValueId conv_bn_relu(Layers& layers, ValueId x, const std::string& name, Conv conv) {
  conv.deviation = tiny;
  return layers.builder().relu(layers.batch_norm(layers.conv(x, name + ".conv", conv), name + ".bn"));
}

// Four convolutions, each of the one before it, whose results lie side by side: half of the channels, a
// quarter, an eighth and an eighth.
ValueId cat_block(Layers& layers, ValueId x, const std::string& name, std::int64_t out, bool halves) {
  Builder& b = layers.builder();
  const auto conv = [&](ValueId y, int i, std::int64_t channels) {
    return conv_bn_relu(layers, y, fmt::format("{}.conv_list.{}", name, i),
                        {.out = channels, .kernel = i == 0 ? 1 : 3});
  };
  ValueId first = conv(x, 0, out / 2), seen = first;
  if (halves) {
    seen = layers.conv(first, name + ".avd_layer.0",
                       {.out = out / 2, .stride = 2, .groups = out / 2, .deviation = tiny});
    seen = layers.batch_norm(seen, name + ".avd_layer.1");
    first = b.avg_pool(first, {.kernel = {3, 3}, .strides = {2, 2}, .paddings = {1, 1, 1, 1}});
  }
  const ValueId second = conv(seen, 1, out / 4), third = conv(second, 2, out / 8);
  return b.concat({first, second, third, conv(third, 3, out / 8)}, 1);
}

}  // namespace

std::vector<ValueId> stdc(Layers& layers, ValueId picture, std::span<const int> depths) {
  int feature = 0;
  const auto next_name = [&] { return fmt::format("backbone.features.{}", feature++); };
  std::vector<ValueId> stages;
  stages.push_back(conv_bn_relu(layers, picture, next_name(), {.out = layers.scaled(32), .stride = 2}));
  stages.push_back(conv_bn_relu(layers, stages.back(), next_name(), {.out = layers.scaled(64), .stride = 2}));
  std::int64_t out = 256;
  for (int depth : depths) {
    ValueId x = stages.back();
    for (int i = 0; i < depth; ++i) x = cat_block(layers, x, next_name(), layers.scaled(out), i == 0);
    stages.push_back(x);
    out *= 2;
  }
  return stages;
}

}  // namespace octet::models
