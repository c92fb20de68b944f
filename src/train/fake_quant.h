#pragma once
#include "graph/quantization.h"
#include "train/ops.h"
#include "train/options.h"
#include "train/precision.h"

// fake_quant nodes that are trained (quant/fake_quant.h), and the convolutions and products behind them,
// which see their input and weights as the integers of the deployed model, while gradients pass the rounding
// as if it were not there.
namespace octet::train {

// Ranges are never below this.
constexpr float kSmallestRange = 1e-6f;

// A fake_quant node on an activation, which all layers that read it share.
//
// With PACT, y = clip(x, -alpha, alpha) is rounded in the range r = min(alpha, moving average of max|x|).
// Gradients: dx = dy where |x| <= alpha, else 0; dalpha = sum of dy * sign(x) where |x| > alpha. With LSQ, r
// itself is learned: dx = dy where |x| <= r, else 0; dr = sum of dy * (round(v) - v) / L where |x| <= r, and
// of dy * sign(x) elsewhere, v = x * L / r, times 1 / sqrt(elements * L).
struct InputQuantizer {
  Activation kind = Activation::kPact;
  int bits = 8;
  double moving_rate = 0.9;
  at::Tensor learned = {};  // alpha, or LSQ's r: one float; not defined: nothing is learned
  at::Tensor scale = {}, state = {}, accum = {};  // of the moving average, one float each

  float levels() const { return static_cast<float>(levels_of(bits)); }
  float range() const;  // r
  // Takes a batch into the moving average, and returns its largest magnitude.
  float observe(const at::Tensor& x) const;
};

// One on weights.
struct WeightQuantizer {
  WeightScale kind = WeightScale::kChannelAbsMax;
  int bits = 8;
  std::int64_t axis = 0;
  at::Tensor learned = {};  // LSQ: the range of each channel

  float levels() const { return static_cast<float>(levels_of(bits)); }
  at::Tensor abs_max(const at::Tensor& weight) const;    // of each channel, or one
  at::Tensor quantized(const at::Tensor& weight) const;  // with gradients to weight and learned
};

// Of a node and its inputs: x, scale, alpha, state, accum.
InputQuantizer input_quantizer(const Node& fake_quant, std::span<const at::Tensor> inputs);
WeightQuantizer weight_quantizer(const Node& fake_quant, std::span<const at::Tensor> inputs);

struct LayerQuantizer {
  InputQuantizer input = {};
  WeightQuantizer weight = {};
};

// A layer together with its two fake_quant nodes: `node` is a conv2d, matmul or matmul_flat. Of the input
// only the integers are kept for the backward pass, a byte each. `training` updates the moving average.
at::Tensor quantized_layer(const Node& node, const LayerQuantizer& quantizer, const at::Tensor& x,
                           const at::Tensor& weight, const at::Tensor* bias, bool training,
                           const Precision& precision);

// What the integers of the input stand for; with gradients as above.
at::Tensor fake_quantize(const at::Tensor& x, const InputQuantizer& quantizer);

// A trained fake_quant node by itself, where what reads it is no such layer.
std::vector<at::Tensor> trained_fake_quant(const Call& call);

// The attribute `method` of the node of an activation.
const char* method_of(Activation kind);

}  // namespace octet::train
