// ResNets, "Deep Residual Learning for Image Recognition" (arXiv:1512.03385), with the stride in the 3x3
// convolution, as torchvision and Paddle have them. Parameters have the names that both give them.
#include <cmath>

#include "models/layers.h"

namespace octet::models {

namespace {

class ResNet {
 public:
  ResNet(const ModelOptions& options, bool bottleneck)
      : options_(options), bottleneck_(bottleneck), layers_(options, {}) {}

  Graph build(std::span<const int> depths) {
    ValueId x = conv_norm(layers_.input(), "conv1", "bn1", {.out = scaled(64), .kernel = 7, .stride = 2});
    x = layers_.builder().max_pool(layers_.activate(x, Activation::kRelu),
                                   {.kernel = {3, 3}, .strides = {2, 2}, .paddings = {1, 1, 1, 1}});
    int stage = 0;
    for (int depth : depths) {
      for (int i = 0; i < depth; ++i)
        x = block(x, fmt::format("layer{}.{}.", stage + 1, i), scaled(64 << stage),
                  stage > 0 && i == 0 ? 2 : 1);
      ++stage;
    }
    x = layers_.pool_and_flatten(x);
    const std::int64_t in = layers_.channels(x);
    return layers_.build(
        layers_.linear(x, "fc",
                       random_uniform({in, options_.num_classes}, 1 / std::sqrt(static_cast<double>(in)),
                                      layers_.random())));
  }

 private:
  std::int64_t scaled(int channels) const { return make_divisible(channels * options_.width); }

  ValueId conv_norm(ValueId x, const std::string& conv_name, const std::string& norm_name, const Conv& conv) {
    return layers_.batch_norm(layers_.conv(x, conv_name, conv), norm_name);
  }

  ValueId block(ValueId x, const std::string& name, std::int64_t channels, std::int64_t stride) {
    const std::int64_t out = bottleneck_ ? 4 * channels : channels;
    auto part = [&](ValueId y, int n, const Conv& conv) {
      return conv_norm(y, fmt::format("{}conv{}", name, n), fmt::format("{}bn{}", name, n), conv);
    };
    auto relu = [&](ValueId y) { return layers_.activate(y, Activation::kRelu); };
    ValueId y;
    if (bottleneck_) {
      y = relu(part(x, 1, {.out = channels, .kernel = 1}));
      y = relu(part(y, 2, {.out = channels, .stride = stride}));
      y = part(y, 3, {.out = out, .kernel = 1});
    } else {
      y = relu(part(x, 1, {.out = channels, .stride = stride}));
      y = part(y, 2, {.out = out});
    }
    if (stride != 1 || layers_.channels(x) != out)
      x = layers_.conv_norm(x, name + "downsample", {.out = out, .kernel = 1, .stride = stride},
                            Activation::kNone);
    return relu(layers_.builder().add(y, x));
  }

  ModelOptions options_;
  bool bottleneck_;
  Layers layers_;
};

constexpr int kDepths18[] = {2, 2, 2, 2}, kDepths34[] = {3, 4, 6, 3};

}  // namespace

Graph resnet18(const ModelOptions& options) {
  return ResNet(options, false).build(kDepths18);
}
Graph resnet34(const ModelOptions& options) {
  return ResNet(options, false).build(kDepths34);
}
Graph resnet50(const ModelOptions& options) {
  return ResNet(options, true).build(kDepths34);
}

}  // namespace octet::models
