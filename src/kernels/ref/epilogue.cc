#include "kernels/ref/epilogue.h"

#include <algorithm>
#include <array>

#include "kernels/ref/activation.h"

namespace octet::ref {

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
      map([=](float x) { return swish_of(x, a); });
      break;
    case Activation::kSigmoid:
      map(sigmoid_of);
      break;
    case Activation::kLeakyRelu:
      map([=](float x) { return leaky_relu_of(x, a); });
      break;
  }
}

void Epilogue::store(float* values, std::int64_t count, std::int64_t index) const {
  activate(values, count);
  if (quantizer_)
    std::transform(values, values + count, integers_ + index,
                   [&](float x) { return quantizer_->to_int8(x); });
  else
    std::copy_n(values, count, floats_ + index);
}

}  // namespace octet::ref
