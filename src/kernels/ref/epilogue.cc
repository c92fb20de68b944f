#include "kernels/ref/epilogue.h"

#include <algorithm>

#include "kernels/ref/activation.h"
#include "kernels/ref/clones.h"

namespace octet::ref {
namespace {

OCTET_CLONES void swish_run(float* values, std::int64_t count, float beta) {
  for (std::int64_t i = 0; i < count; ++i) values[i] = swish_of(values[i], beta);
}

OCTET_CLONES void sigmoid_run(float* values, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) values[i] = sigmoid_of(values[i]);
}

// The multiplier and the bias of sum i are `step` * i elements on.
OCTET_CLONES void rescale_run(const std::int32_t* sums, std::int64_t count, const float* multiplier,
                              std::int64_t multiplier_step, const float* bias, std::int64_t bias_step,
                              float* out) {
  for (std::int64_t i = 0; i < count; ++i)
    out[i] = std::fma(static_cast<float>(sums[i]), multiplier[i * multiplier_step], bias[i * bias_step]);
}

constexpr float kNoBias = 0;

}  // namespace

std::vector<float> Rescale::row(const std::int32_t* sums, std::int64_t count, std::int64_t channel) const {
  std::vector<float> values(static_cast<std::size_t>(count));
  const float* bias = bias_.empty() ? &kNoBias : bias_.data() + channel;
  rescale_run(sums, count, multiplier_.data() + channel, 0, bias, 0, values.data());
  return values;
}

std::vector<float> Rescale::columns(const std::int32_t* sums, std::int64_t count, std::int64_t first) const {
  std::vector<float> values(static_cast<std::size_t>(count));
  bool one = multiplier_.size() == 1;
  const float* bias = bias_.empty() ? &kNoBias : bias_.data() + first;
  rescale_run(sums, count, multiplier_.data() + (one ? 0 : first), one ? 0 : 1, bias, bias_.empty() ? 0 : 1,
              values.data());
  return values;
}

std::vector<float> AddBias::row(const float* sums, std::int64_t count, std::int64_t channel) const {
  std::vector<float> values(sums, sums + count);
  if (bias_)
    for (float& value : values) value += bias_[channel];
  return values;
}

std::vector<float> AddBias::columns(const float* sums, std::int64_t count, std::int64_t first) const {
  std::vector<float> values(sums, sums + count);
  if (bias_)
    for (std::size_t i = 0; i < values.size(); ++i) values[i] += bias_[first + static_cast<std::int64_t>(i)];
  return values;
}

Store::Store(const KernelArgs& args, const Tensor* residual, const Tensor* out_scale)
    : epilogue_(read_epilogue(args.node, out_scale)) {
  if (residual && residual->dtype() == DType::kInt8) {
    residual_integers_ = residual->data<std::int8_t>().data();
    residual_step_ = attr<float>(args.node, "residual_step");
  } else if (residual) {
    residual_ = residual->data<float>().data();
  }
  for (Tensor& output : args.outputs) {
    if (output.dtype() == DType::kInt8)
      integers_ = output.mutable_data<std::int8_t>().data();
    else
      floats_ = output.mutable_data<float>().data();
  }
}

void Store::activate(float* values, std::int64_t count) const {
  auto map = [&](auto function) {
    for (std::int64_t i = 0; i < count; ++i) values[i] = function(values[i]);
  };
  float a = epilogue_.args[0], b = epilogue_.args[1], c = epilogue_.args[2];
  switch (epilogue_.activation) {
    case Activation::kNone:
      break;
    case Activation::kRelu:
      map(relu_of);
      break;
    case Activation::kRelu6:
      map([=](float x) { return relu6_of(x, a); });
      break;
    case Activation::kHardSwish:
      map([=](float x) { return hard_swish_of(x, a, b, c); });
      break;
    case Activation::kHardSigmoid:
      map([=](float x) { return hard_sigmoid_of(x, a, b); });
      break;
    case Activation::kSwish:
      swish_run(values, count, a);
      break;
    case Activation::kSigmoid:
      sigmoid_run(values, count);
      break;
    case Activation::kLeakyRelu:
      map([=](float x) { return leaky_relu_of(x, a); });
      break;
  }
}

void Store::operator()(float* values, std::int64_t count, std::int64_t index) const {
  if (residual_)
    for (std::int64_t i = 0; i < count; ++i) values[i] += residual_[index + i];
  if (residual_integers_)
    for (std::int64_t i = 0; i < count; ++i)
      values[i] += static_cast<float>(residual_integers_[index + i]) * residual_step_;
  activate(values, count);
  if (integers_) quantize_run(values, count, epilogue_.quantizer, integers_ + index);
  if (floats_) std::copy_n(values, count, floats_ + index);
}

}  // namespace octet::ref
