// U-Net, "Convolutional Networks for Biomedical Image Segmentation" (arXiv:1505.04597), as PaddleSeg has it.
// Parameters have the names that PaddleSeg gives them.
#include <cmath>

#include "models/seg_layers.h"

namespace octet::models {

namespace {

// name.`first` and the next.
ValueId double_conv(Layers& layers, ValueId x, const std::string& name, int first, std::int64_t out) {
  for (int i : {first, first + 1})
    x = seg::conv_bn_relu(layers, x, fmt::format("{}.{}", name, i), {.out = out, .bias = true, .same = true});
  return x;
}

// Twice the size. Its fresh weights are those of Paddle's Conv2DTranspose, uniform as Glorot and Bengio have
// them.
ValueId deconv(Layers& layers, ValueId x, const std::string& name, std::int64_t out) {
  Builder& b = layers.builder();
  const std::int64_t in = layers.channels(x), fan_in = 4 * out, fan_out = 4 * in;
  const double bound = std::sqrt(6.0 / static_cast<double>(fan_in + fan_out));
  const ValueId weight =
      b.constant(name + ".weight", random_uniform({in, out, 2, 2}, bound, layers.random()));
  const ValueId y = b.conv2d_transpose(x, weight, {.strides = {2, 2}});
  return b.add(y, b.constant(name + ".bias", filled({out}, 0)), 1);
}

}  // namespace

Graph unet(const ModelOptions& options) {
  constexpr int kDown[] = {128, 256, 512, 512}, kUp[] = {256, 128, 64, 64};
  const SegmentationOptions& o = options.segmentation;
  Layers layers(options, {.deviation = fan_in});
  Builder& b = layers.builder();
  const ValueId picture = seg::input(layers, options);
  ValueId x = double_conv(layers, picture, "encode.double_conv", 0, layers.scaled(64));
  std::vector<ValueId> shortcuts;
  for (int out : kDown) {
    const std::string name = fmt::format("encode.down_sample_list.{}", shortcuts.size());
    shortcuts.push_back(x);
    x = double_conv(layers, b.max_pool(x, {.kernel = {2, 2}, .strides = {2, 2}}), name, 1,
                    layers.scaled(out));
  }
  int step = 0;
  for (int out : kUp) {
    const std::string name = fmt::format("decode.up_sample_list.{}", step++);
    const ValueId shortcut = shortcuts.back();
    shortcuts.pop_back();
    x = o.use_deconv ? deconv(layers, x, name + ".deconv", layers.scaled(out) / 2)
                     : seg::resize(layers, x, seg::size_of(layers, shortcut), o.align_corners);
    x = double_conv(layers, b.concat({x, shortcut}, 1), name + ".double_conv", 0, layers.scaled(out));
  }
  return layers.build(seg::scores(layers, x, "cls", options, 3));
}

}  // namespace octet::models
