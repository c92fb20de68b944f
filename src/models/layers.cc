#include "models/layers.h"

#include <algorithm>
#include <cmath>

namespace octet::models {

namespace {

// Before and after: what TensorFlow's SAME gives for an input of this size.
std::pair<std::int64_t, std::int64_t> tensorflow_padding(std::int64_t size, const Conv& conv) {
  std::int64_t outputs = (size + conv.stride - 1) / conv.stride;
  std::int64_t total = std::max<std::int64_t>((outputs - 1) * conv.stride + conv.kernel - size, 0);
  return {total / 2, total - total / 2};
}

double he(std::int64_t fan) {
  return std::sqrt(2.0 / static_cast<double>(fan));
}

}  // namespace

double fan_out(std::int64_t /*in*/, const Conv& conv) {
  return he(conv.out * conv.kernel * conv.kernel);
}
double fan_out_of_group(std::int64_t /*in*/, const Conv& conv) {
  return he(conv.out * conv.kernel * conv.kernel / conv.groups);
}
double fan_in(std::int64_t in, const Conv& conv) {
  return he(in * conv.kernel * conv.kernel);
}
double fan_in_of_group(std::int64_t in, const Conv& conv) {
  return he(in / conv.groups * conv.kernel * conv.kernel);
}

ConvOptions Layers::geometry(ValueId x, const Conv& conv) const {
  const std::int64_t half = conv.kernel / 2 * conv.dilation;
  ConvOptions options = {.strides = {conv.stride, conv.stride},
                         .paddings = {half, half, half, half},
                         .dilations = {conv.dilation, conv.dilation},
                         .groups = conv.groups};
  if (conv.same) {
    options.paddings = {0, 0, 0, 0};
    options.auto_pad = "same";
  }
  if (recipe_.pads_as_tensorflow) {
    const Shape& shape = builder_.shape(x);
    auto [top, bottom] = tensorflow_padding(shape[2], conv);
    auto [left, right] = tensorflow_padding(shape[3], conv);
    options.paddings = {top, bottom, left, right};
  }
  return options;
}

Tensor Layers::weights(const Shape& shape, double deviation) {
  return options_.fresh_weights ? random_normal(shape, deviation, random_) : filled(shape, 0);
}

std::int64_t Layers::scaled(std::int64_t channels) const {
  return options_.width == 1.0 ? channels : make_divisible(static_cast<double>(channels) * options_.width);
}

ValueId Layers::conv(ValueId x, const std::string& name, const Conv& conv) {
  Shape shape = {conv.out, channels(x) / conv.groups, conv.kernel, conv.kernel};
  const Deviation deviation = conv.deviation ? conv.deviation : recipe_.deviation;
  ValueId weight = builder_.constant(name + ".weight", weights(shape, deviation(channels(x), conv)));
  ValueId y = builder_.conv2d(x, weight, geometry(x, conv));
  // An addition, as in Paddle's own files: its convolution on CPUs passes over the bias that it could have.
  return conv.bias ? builder_.add(y, builder_.constant(name + ".bias", filled({conv.out}, 0)), 1) : y;
}

ValueId Layers::batch_norm(ValueId x, const std::string& name) {
  auto parameter = [&](const char* leaf, float value) {
    return builder_.constant(name + leaf, filled({channels(x)}, value));
  };
  ValueId scale = parameter(".weight", 1), bias = parameter(".bias", 0);
  ValueId mean = parameter("._mean", 0), variance = parameter("._variance", 1);
  return builder_.op("batch_norm", {x, scale, bias, mean, variance},
                     {{"epsilon", recipe_.epsilon}, {"momentum", recipe_.momentum}});
}

ValueId Layers::activate(ValueId x, Activation activation) {
  switch (activation) {
    case Activation::kNone:
      return x;
    case Activation::kRelu:
      return builder_.relu(x);
    case Activation::kRelu6:
      return builder_.relu6(x);
    case Activation::kHardSwish:
      return builder_.hard_swish(x);
  }
  return x;
}

ValueId Layers::conv_norm(ValueId x, const std::string& name, const Conv& conv, Activation activation) {
  return activate(batch_norm(this->conv(x, name + ".0", conv), name + ".1"), activation);
}

ValueId Layers::linear(ValueId x, const std::string& name, Tensor weight) {
  std::int64_t out = weight.dim(1);
  ValueId product = builder_.matmul(x, builder_.constant(name + ".weight", std::move(weight)));
  return builder_.add(product, builder_.constant(name + ".bias", filled({out}, 0)));
}

ValueId Layers::pool_and_flatten(ValueId x) {
  return builder_.flatten(builder_.adaptive_avg_pool(x, {1, 1}));
}

std::int64_t make_divisible(double channels) {
  auto nearest = std::max<std::int64_t>(8, static_cast<std::int64_t>(channels + 4) / 8 * 8);
  return static_cast<double>(nearest) < 0.9 * channels ? nearest + 8 : nearest;
}

}  // namespace octet::models
