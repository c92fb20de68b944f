#include "kernels/epilogue.h"

#include <algorithm>
#include <array>

#include "graph/quantization.h"

namespace octet {

Epilogue read_epilogue(const Node& node, const Tensor* out_scale) {
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
  Epilogue epilogue;
  std::string name = attr<std::string>(node, "activation");
  const Row* row =
      std::find_if(std::begin(kRows), std::end(kRows), [&](const Row& r) { return r.name == name; });
  check(row != std::end(kRows), "the op table has checked the name of the activation");
  epilogue.activation = row->activation;
  std::copy(row->args.begin(), row->args.end(), epilogue.args);
  std::vector<double> given = attr<std::vector<double>>(node, "activation_args");
  check(given.size() <= 3, "the op table has checked the number of activation_args");
  std::transform(given.begin(), given.end(), epilogue.args,
                 [](double arg) { return static_cast<float>(arg); });
  if (out_scale) {
    epilogue.quantizes = true;
    epilogue.quantizer = Quantizer(quantization_of(node, *out_scale, nullptr));
  }
  return epilogue;
}

}  // namespace octet
