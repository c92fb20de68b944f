#pragma once
#include <string>
#include <vector>

#include "graph/builder.h"
#include "support/small_models.h"

// Small graphs with the ops of real networks, for attacks and fuzzers to begin with. All take 3x16x16.
namespace octet::attack {

using testing::ramp;

inline ValueId conv(Builder& b, ValueId x, std::int64_t channels, std::int64_t size,
                    ConvOptions options = {}) {
  static std::uint32_t seed = 1;
  const std::string name = "w" + std::to_string(++seed);
  const Shape shape = {channels, b.shape(x)[1] / options.groups, size, size};
  options.paddings = {size / 2, size / 2, size / 2, size / 2};
  return b.conv2d(x, b.constant(name, ramp(shape, seed)), options);
}

inline ValueId norm(Builder& b, ValueId x) {
  static int count = 0;
  const std::string name = "bn" + std::to_string(++count);
  const Shape shape = {b.shape(x)[1]};
  Tensor variance(DType::kFloat32, shape);
  for (float& value : variance.mutable_data<float>()) value = 1;
  return b.batch_norm(x, b.constant(name + ".scale", ramp(shape, 2)),
                      b.constant(name + ".bias", ramp(shape, 3)), b.constant(name + ".mean", ramp(shape, 4)),
                      b.constant(name + ".variance", variance));
}

// As MobileNetV3: depthwise, squeeze and excite, a residual.
inline Graph classifier() {
  Builder b;
  const ValueId x = b.input("x", {kUnknown, 3, 16, 16});
  const ValueId first = b.hard_swish(norm(b, conv(b, x, 8, 3, {.strides = {2, 2}})));
  ValueId y = b.relu(norm(b, conv(b, first, 8, 3, {.groups = 8})));
  const ValueId gate = b.hard_sigmoid(conv(b, b.relu(conv(b, b.global_avg_pool(y), 4, 1)), 8, 1));
  y = b.add(conv(b, b.mul(y, gate), 8, 1), first);
  y = b.max_pool(y, {.kernel = {2, 2}, .strides = {2, 2}});
  y = b.flatten(b.global_avg_pool(conv(b, y, 12, 3, {.groups = 2})));
  y = b.add(b.matmul(y, b.constant("fc.w", ramp({12, 5}, 5))), b.constant("fc.b", ramp({5}, 6)));
  return b.build({b.softmax(y)});
}

// Down, up by a transposed convolution and by resizing, joined; enough channels for Winograd; the class of
// each pixel, of enlarged scores.
inline Graph segmentation() {
  Builder b;
  const ValueId x = b.input("x", {kUnknown, 3, 16, 16});
  const ValueId low = b.relu(conv(b, x, 6, 3, {.strides = {2, 2}}));
  const ValueId up = b.conv2d_transpose(low, b.constant("up", ramp({6, 4, 2, 2}, 9)), {.strides = {2, 2}});
  const ValueId wide = b.resize(b.avg_pool(low, {.kernel = {2, 2}, .strides = {2, 2}}),
                                {.mode = "bilinear", .out_h = 16, .out_w = 16});
  ValueId y = b.concat({b.sigmoid(up), wide}, 1);
  y = b.relu(conv(b, b.relu(conv(b, y, 32, 1)), 16, 3));
  y = b.resize(conv(b, y, 3, 1), {.mode = "bilinear", .out_h = 24, .out_w = 20});
  return b.build({b.arg_max(y, 1)});
}

// As a reader of text lines: pictures become sequences, a normalisation, products of two activations.
inline Graph ocr() {
  Builder b;
  const ValueId x = b.input("x", {kUnknown, 3, 16, 16});
  ValueId y = b.swish(norm(b, conv(b, x, 8, 3, {.strides = {2, 2}})));
  y = b.avg_pool(y, {.kernel = {8, 1}, .strides = {8, 1}});
  y = b.transpose(b.squeeze(y, {2}), {0, 2, 1});
  y = b.layer_norm(y, b.constant("ln.scale", ramp({8}, 7)), b.constant("ln.bias", ramp({8}, 8)), 2);
  const std::vector<ValueId> parts = b.split(b.matmul(y, b.constant("qkv", ramp({8, 24}, 10))), {8, 8, 8}, 2);
  const ValueId scores = b.softmax(b.scale(b.matmul(parts[0], parts[1], {.transpose_y = true}), 0.35));
  y = b.add(b.matmul(scores, parts[2]), y);
  y = b.reshape(b.slice(y, {1}, {1}, {7}), {0, -1, 4, 2});
  y = b.reshape(b.reduce_mean(y, {3}), {-1, 24});
  return b.build({b.softmax(b.matmul(y, b.constant("out", ramp({24, 7}, 11))))});
}

struct NamedGraph {
  std::string name;
  Graph graph;
};
inline std::vector<NamedGraph> sample_graphs() {
  return {{"classifier", classifier()}, {"segmentation", segmentation()}, {"ocr", ocr()}};
}

}  // namespace octet::attack
