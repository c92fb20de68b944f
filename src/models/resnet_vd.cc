#include "models/resnet_vd.h"

#include "base/error.h"

namespace octet::models {

namespace {

struct Block {
  std::int64_t channels;
  std::int64_t stride = 1, dilation = 1;
  bool has_shortcut_conv = false;
};

ValueId bottleneck(Layers& layers, ValueId x, const std::string& name, const Block& block) {
  Builder& b = layers.builder();
  ValueId y = seg::conv_bn_relu(layers, x, name + ".conv0", {.out = block.channels, .kernel = 1});
  y = seg::conv_bn_relu(layers, y, name + ".conv1",
                        {.out = block.channels, .stride = block.stride, .dilation = block.dilation});
  y = seg::conv_bn(layers, y, name + ".conv2", {.out = 4 * block.channels, .kernel = 1});
  if (block.has_shortcut_conv) {
    if (block.stride == 2) x = b.avg_pool(x, {.kernel = {2, 2}, .strides = {2, 2}, .ceil_mode = true});
    x = seg::conv_bn(layers, x, name + ".short", {.out = 4 * block.channels, .kernel = 1});
  }
  return b.relu(b.add(x, y));
}

}  // namespace

std::vector<ValueId> resnet50_vd(Layers& layers, ValueId picture, const ModelOptions& options,
                                 std::int64_t output_stride) {
  constexpr int kDepths[] = {3, 4, 6, 3};
  const SegmentationOptions::Ints& grid = options.segmentation.multi_grid;
  if (grid.size() != 3)
    fail("multi_grid has {} numbers; it has one for each of the last 3 blocks", grid.size());
  const std::string name = "backbone.";
  ValueId x = seg::conv_bn_relu(layers, picture, name + "conv1_1", {.out = layers.scaled(32), .stride = 2});
  x = seg::conv_bn_relu(layers, x, name + "conv1_2", {.out = layers.scaled(32)});
  x = seg::conv_bn_relu(layers, x, name + "conv1_3", {.out = layers.scaled(64)});
  x = layers.builder().max_pool(x, {.kernel = {3, 3}, .strides = {2, 2}, .paddings = {1, 1, 1, 1}});
  std::vector<ValueId> stages;
  std::int64_t reached =
      4;  // how many pixels of the picture lie beside each other in one of x, but for dilation
  for (std::int64_t stage = 0; stage < 4; ++stage) {
    if (stage > 0) reached *= 2;
    const std::int64_t dilation = reached > output_stride ? reached / output_stride : 1;
    for (int i = 0; i < kDepths[stage]; ++i) {
      Block block{.channels = layers.scaled(std::int64_t{64} << stage), .has_shortcut_conv = i == 0};
      block.dilation = stage == 3 ? dilation * grid[static_cast<std::size_t>(i)] : dilation;
      if (stage > 0 && i == 0 && block.dilation == 1) block.stride = 2;
      x = bottleneck(layers, x, fmt::format("{}bb_{}_{}", name, stage, i), block);
    }
    stages.push_back(x);
  }
  return stages;
}

}  // namespace octet::models
