// BiSeNet V2, "Bilateral Network with Guided Aggregation for Real-time Semantic Segmentation"
// (arXiv:2004.02147), as PaddleSeg has it. Parameters have the names that PaddleSeg gives them.
#include "models/seg_layers.h"

namespace octet::models {

namespace {

class BiSeNetV2 {
 public:
  explicit BiSeNetV2(const ModelOptions& options)
      : options_(options), layers_(options, {.deviation = fan_in_of_group}), b_(layers_.builder()) {}

  Graph build() {
    const auto semantic = [&](int channels) {
      return layers_.scaled(static_cast<std::int64_t>(channels * options_.segmentation.lambd));
    };
    const ValueId picture = seg::input(layers_, options_);
    const ValueId details = detail_branch(picture);
    const ValueId feature1 = stem(picture, semantic(64));
    const ValueId feature2 = stage(feature1, "sb.stage3", semantic(128), 2);
    const ValueId feature3 = stage(feature2, "sb.stage4", layers_.scaled(64), 2);
    const ValueId feature4 = stage(feature3, "sb.stage5_4", layers_.scaled(128), 4);
    const ValueId aggregated = aggregate(details, embed_context(feature4));
    std::vector<ValueId> scores;
    for (ValueId feature : {feature1, feature2, feature3, feature4})
      scores.push_back(head(feature, fmt::format("aux_head{}", scores.size() + 1)));
    scores.insert(scores.begin(), head(aggregated, "head"));
    return seg::build(layers_, picture, scores, options_.segmentation.align_corners);
  }

 private:
  ValueId conv(ValueId x, const std::string& name, std::int64_t out, std::int64_t kernel = 3,
               std::int64_t stride = 1) {
    return seg::conv_bn_relu(layers_, x, name, with_bias(out, kernel, stride));
  }
  ValueId linear_conv(ValueId x, const std::string& name, std::int64_t out, std::int64_t kernel = 3,
                      std::int64_t stride = 1) {
    return seg::conv_bn(layers_, x, name, with_bias(out, kernel, stride));
  }
  ValueId depthwise(ValueId x, const std::string& name, std::int64_t out, std::int64_t stride = 1) {
    return seg::depthwise_conv_bn(layers_, x, name, with_bias(out, 3, stride));
  }
  // A convolution without a batch norm.
  ValueId plain_conv(ValueId x, const std::string& name, std::int64_t out, std::int64_t kernel) {
    return layers_.conv(x, name, {.out = out, .kernel = kernel, .bias = true});
  }
  static Conv with_bias(std::int64_t out, std::int64_t kernel, std::int64_t stride) {
    return {.out = out, .kernel = kernel, .stride = stride, .bias = true, .same = true};
  }

  ValueId detail_branch(ValueId x) {
    struct Layer {
      int out, stride;
    };
    constexpr Layer kLayers[] = {{64, 2}, {64, 1}, {64, 2}, {64, 1}, {64, 1}, {128, 2}, {128, 1}, {128, 1}};
    int number = 0;
    for (const Layer& layer : kLayers)
      x = conv(x, fmt::format("db.convs.{}", number++), layers_.scaled(layer.out), 3, layer.stride);
    return x;
  }

  ValueId stem(ValueId x, std::int64_t out) {
    x = conv(x, "sb.stem.conv", out, 3, 2);
    const ValueId left =
        conv(conv(x, "sb.stem.left.0", std::max<std::int64_t>(out / 2, 1), 1), "sb.stem.left.1", out, 3, 2);
    const ValueId right = b_.max_pool(x, {.kernel = {3, 3}, .strides = {2, 2}, .paddings = {1, 1, 1, 1}});
    return conv(b_.concat({left, right}, 1), "sb.stem.fuse", out);
  }

  // Gather-and-expansion layers: the first halves the size of the image, the others keep it.
  ValueId stage(ValueId x, const std::string& name, std::int64_t out, int depth) {
    x = halving_layer(x, name + ".0", out);
    for (int i = 1; i < depth; ++i) x = keeping_layer(x, fmt::format("{}.{}.conv", name, i));
    return x;
  }

  ValueId halving_layer(ValueId x, const std::string& name, std::int64_t out) {
    const std::int64_t in = layers_.channels(x), expanded = kExpansion * in;
    ValueId y = conv(x, name + ".branch_1.0", in);
    y = depthwise(y, name + ".branch_1.1", expanded, 2);
    y = depthwise(y, name + ".branch_1.2", expanded);
    y = linear_conv(y, name + ".branch_1.3", out, 1);
    ValueId shortcut = depthwise(x, name + ".branch_2.0", in, 2);
    shortcut = linear_conv(shortcut, name + ".branch_2.1", out, 1);
    return b_.relu(b_.add(y, shortcut));
  }

  ValueId keeping_layer(ValueId x, const std::string& name) {
    const std::int64_t channels = layers_.channels(x);
    ValueId y = conv(x, name + ".0", channels);
    y = depthwise(y, name + ".1", kExpansion * channels);
    y = linear_conv(y, name + ".2", channels, 1);
    return b_.relu(b_.add(y, x));
  }

  ValueId embed_context(ValueId x) {
    const std::int64_t channels = layers_.channels(x);
    const ValueId mean = layers_.batch_norm(b_.adaptive_avg_pool(x, {1, 1}), "sb.ce.bn");
    const ValueId context = conv(mean, "sb.ce.conv_1x1", channels, 1);
    return plain_conv(b_.add(context, x), "sb.ce.conv_3x3", channels, 3);
  }

  // The bilateral guided aggregation layer: each branch is weighted by what the other sees.
  ValueId aggregate(ValueId details, ValueId semantics) {
    const std::int64_t channels = layers_.channels(details);
    const bool align = options_.segmentation.align_corners;
    const ValueId fine =
        plain_conv(depthwise(details, "bga.db_branch_keep.0", channels), "bga.db_branch_keep.1", channels, 1);
    const ValueId coarse = b_.avg_pool(linear_conv(details, "bga.db_branch_down.0", channels, 3, 2),
                                       {.kernel = {3, 3}, .strides = {2, 2}, .paddings = {1, 1, 1, 1}});
    const ValueId gate_of_coarse = b_.sigmoid(plain_conv(
        depthwise(semantics, "bga.sb_branch_keep.0", channels), "bga.sb_branch_keep.1", channels, 1));
    const ValueId size = seg::size_of(layers_, fine);
    const ValueId gate_of_fine =
        b_.sigmoid(seg::resize(layers_, linear_conv(semantics, "bga.sb_branch_up", channels), size, align));
    const ValueId from_fine = b_.mul(fine, gate_of_fine);
    const ValueId from_coarse = seg::resize(layers_, b_.mul(coarse, gate_of_coarse), size, align);
    return linear_conv(b_.add(from_fine, from_coarse), "bga.conv", channels);
  }

  ValueId head(ValueId x, const std::string& name) {
    const ValueId y = b_.dropout(conv(x, name + ".conv_3x3.0", layers_.channels(x)), 0.1);
    return plain_conv(y, name + ".conv_1x1", options_.num_classes, 1);
  }

  static constexpr std::int64_t kExpansion = 6;

  ModelOptions options_;
  Layers layers_;
  Builder& b_;
};

}  // namespace

Graph bisenetv2(const ModelOptions& options) {
  return BiSeNetV2(options).build();
}

}  // namespace octet::models
