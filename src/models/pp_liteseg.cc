// PP-LiteSeg, "A Superior Real-Time Semantic Segmentation Model" (arXiv:2204.02681), with spatial attention,
// as PaddleSeg has it. Parameters have the names that PaddleSeg gives them.
#include "base/error.h"
#include "models/stdc.h"

namespace octet::models {

namespace {

using Ints = SegmentationOptions::Ints;

// One number stands for all.
Ints for_each_stage(const char* option, const Ints& numbers, std::size_t stages) {
  if (numbers.size() == 1) return Ints(stages, numbers[0]);
  if (numbers.size() != stages)
    fail("{} has {} numbers, and backbone_indices {}: one for each", option, numbers.size(), stages);
  return numbers;
}

// The unified attention fusion module: of each pixel, how much of a fine image and how much of a coarse one.
ValueId fuse(Layers& layers, ValueId fine, ValueId coarse, const std::string& name, std::int64_t out) {
  Builder& b = layers.builder();
  const ValueId x = seg::conv_bn_relu(layers, fine, name + ".conv_x", {.out = layers.channels(coarse)});
  const ValueId y = seg::resize(layers, coarse, seg::size_of(layers, x), false);
  std::vector<ValueId> seen;
  for (ValueId image : {x, y})
    for (const char* op : {"reduce_mean", "reduce_max"})
      seen.push_back(b.op(op, {image}, {{"axes", std::vector<std::int64_t>{1}}, {"keepdims", true}}));
  ValueId attention = seg::conv_bn_relu(layers, b.concat(seen, 1), name + ".conv_xy_atten.0", {.out = 2});
  attention = b.sigmoid(seg::conv_bn(layers, attention, name + ".conv_xy_atten.1", {.out = 1}));
  // A one that checkpoints hold, but that is not learned: behind an identity.
  const ValueId one = b.op("identity", {b.constant(name + "._scale", filled({1}, 1))});
  const ValueId rest = b.sub(one, attention);
  return seg::conv_bn_relu(layers, b.add(b.mul(x, attention), b.mul(y, rest)), name + ".conv_out",
                           {.out = out});
}

Graph pp_liteseg(const ModelOptions& options, std::span<const int> depths) {
  const SegmentationOptions& o = options.segmentation;
  Layers layers(options, {.deviation = fan_in});
  Builder& b = layers.builder();
  const ValueId picture = seg::input(layers, options);
  const Ints usual = o.backbone_indices.size() > 1 ? o.backbone_indices : Ints{2, 3, 4};
  const std::vector<ValueId> stages = seg::chosen_stages(stdc(layers, picture, depths), options, usual);
  const Ints arms = for_each_stage("arm_out_chs", o.arm_out_chs, stages.size()),
             heads = for_each_stage("seg_head_inter_chs", o.seg_head_inter_chs, stages.size());

  const std::string context = "ppseg_head.cm";
  const std::vector<ValueId> parts =
      seg::pyramid(layers, stages.back(), context, o.cm_bin_sizes, layers.scaled(o.cm_out_ch), false);
  ValueId x = parts.at(0);
  for (std::size_t i = 1; i < parts.size(); ++i) x = b.add(x, parts[i]);
  x = seg::conv_bn_relu(layers, x, context + ".conv_out", {.out = layers.scaled(o.cm_out_ch), .bias = true});

  std::vector<ValueId> features(stages.size());
  for (std::size_t i = stages.size(); i-- > 0;)
    features[i] = x =
        fuse(layers, stages[i], x, fmt::format("ppseg_head.arm_list.{}", i), layers.scaled(arms[i]));
  std::vector<ValueId> scores;
  for (std::size_t i = 0; i < features.size(); ++i) {
    const std::string name = fmt::format("seg_heads.{}", i);
    const ValueId hidden =
        seg::conv_bn_relu(layers, features[i], name + ".conv", {.out = layers.scaled(heads[i])});
    scores.push_back(layers.conv(hidden, name + ".conv_out", {.out = options.num_classes, .kernel = 1}));
  }
  return seg::build(layers, picture, scores, false);
}

constexpr int kDepths1[] = {2, 2, 2}, kDepths2[] = {4, 5, 3};

}  // namespace

Graph pp_liteseg_stdc1(const ModelOptions& options) {
  return pp_liteseg(options, kDepths1);
}
Graph pp_liteseg_stdc2(const ModelOptions& options) {
  return pp_liteseg(options, kDepths2);
}

}  // namespace octet::models
