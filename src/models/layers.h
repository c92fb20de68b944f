#pragma once
#include <string>
#include <string_view>

#include "graph/builder.h"
#include "models/init.h"
#include "models/models.h"

namespace octet::models {

enum class Activation : std::uint8_t { kNone, kRelu, kRelu6, kHardSwish };

struct Conv;
// The standard deviation of a convolution's fresh weights, by its input channels.
using Deviation = double (*)(std::int64_t in, const Conv& conv);

struct Conv {
  std::int64_t out = 0;
  std::int64_t kernel = 3;
  std::int64_t stride = 1;
  std::int64_t groups = 1;
  std::int64_t dilation = 1;
  bool bias = false;
  // Padding that gives a pixel for each stride of them, for pictures of any size. Else it is by half of the
  // (dilated) kernel on all sides.
  bool same = false;
  Deviation deviation = nullptr;  // null: the recipe's
};

double fan_out(std::int64_t in, const Conv& conv);           // the root of 2 / fan-out (He et al., 2015)
double fan_out_of_group(std::int64_t in, const Conv& conv);  // that of one group: TensorFlow's
double fan_in(std::int64_t in, const Conv& conv);           // of all groups: what Paddle's Conv2D begins with
double fan_in_of_group(std::int64_t in, const Conv& conv);  // Paddle's KaimingNormal

// How the layers of one network are made.
struct Recipe {
  double epsilon = 1e-5;  // of batch norms
  double momentum = 0.9;
  // TensorFlow's convolutions pad as little as possible and more after than before. Here for pictures of a
  // known size; Conv::same is for any.
  bool pads_as_tensorflow = false;
  Deviation deviation = fan_out;
};

// Layers with parameters, which are named `name`.weight and so on. Weights are drawn in the order of the
// calls, and that is also their order in a checkpoint.
class Layers {
 public:
  Layers(const ModelOptions& options, const Recipe& recipe)
      : options_(options), recipe_(recipe), random_({options.seed}) {}

  Builder& builder() { return builder_; }
  Random& random() { return random_; }
  std::int64_t channels(ValueId x) const { return builder_.shape(x)[1]; }
  // So many channels in a network of the options' width.
  std::int64_t scaled(std::int64_t channels) const;

  ValueId input() { return builder_.input("x", {kUnknown, 3, options_.img_size, options_.img_size}); }

  ValueId conv(ValueId x, const std::string& name, const Conv& conv);
  ValueId batch_norm(ValueId x, const std::string& name);
  ValueId activate(ValueId x, Activation activation);
  // name.0 and name.1: a convolution and its batch norm, and an activation.
  ValueId conv_norm(ValueId x, const std::string& name, const Conv& conv, Activation activation);
  ValueId linear(ValueId x, const std::string& name, Tensor weight);

  // Normal weights, or zeros where nobody wants fresh ones.
  Tensor weights(const Shape& shape, double deviation);

  ValueId pool_and_flatten(ValueId x);  // the mean of each channel
  Graph build(ValueId logits) { return builder_.build({logits}); }

 private:
  ConvOptions geometry(ValueId x, const Conv& conv) const;

  ModelOptions options_;
  Recipe recipe_;
  Random random_;
  Builder builder_;
};

// The nearest multiple of eight that is not less than 90% of `channels`, and at least eight.
std::int64_t make_divisible(double channels);

}  // namespace octet::models
