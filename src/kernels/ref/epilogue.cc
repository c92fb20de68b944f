#include "kernels/ref/epilogue.h"

#include <algorithm>
#include <array>

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

Epilogue::Epilogue(const KernelArgs& args, const Tensor* out_scale) {
  struct Row {
    std::string_view name;
    Activation activation;
    std::array<float, 3> args;  // the defaults of the op of that name
  };
  static constexpr Row kRows[] = {
      {"", Activation::kNone, {}},
      {"relu", Activation::kRelu, {}},
      {"relu6", Activation::kRelu6, {6.0f}},
      {"hard_swish", Activation::kHardSwish, {6.0f, 6.0f, 3.0f}},
      {"hard_sigmoid", Activation::kHardSigmoid, {0.2f, 0.5f}},
      {"swish", Activation::kSwish, {1.0f}},
      {"sigmoid", Activation::kSigmoid, {}},
      {"leaky_relu", Activation::kLeakyRelu, {0.02f}},
  };
  std::string name = attr<std::string>(args.node, "activation");
  const Row* row =
      std::find_if(std::begin(kRows), std::end(kRows), [&](const Row& r) { return r.name == name; });
  check(row != std::end(kRows), "the op table has checked the name of the activation");
  activation_ = row->activation;
  std::copy(row->args.begin(), row->args.end(), args_);
  std::vector<double> given = attr<std::vector<double>>(args.node, "activation_args");
  check(given.size() <= 3, "the op table has checked the number of activation_args");
  std::transform(given.begin(), given.end(), args_, [](double arg) { return static_cast<float>(arg); });

  if (out_scale) {
    quantizer_ = Quantizer::of_abs_max(out_scale->data<float>()[0], attr<int>(args.node, "bits"),
                                       attr<std::string>(args.node, "rounding") == "away");
    integers_ = args.outputs[0].mutable_data<std::int8_t>().data();
  } else {
    floats_ = args.outputs[0].mutable_data<float>().data();
  }
}

void Epilogue::activate(float* values, std::int64_t count) const {
  auto map = [&](auto function) {
    for (std::int64_t i = 0; i < count; ++i) values[i] = function(values[i]);
  };
  float a = args_[0], b = args_[1], c = args_[2];
  switch (activation_) {
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

void Epilogue::store(float* values, std::int64_t count, std::int64_t index) const {
  activate(values, count);
  if (quantizer_)
    quantize_run(values, count, *quantizer_, integers_ + index);
  else
    std::copy_n(values, count, floats_ + index);
}

}  // namespace octet::ref
