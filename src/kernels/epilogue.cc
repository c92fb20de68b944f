#include "kernels/epilogue.h"

#include <algorithm>
#include <array>
#include <limits>

#include "graph/activation.h"

#include "graph/quantization.h"

namespace octet {

void Epilogue::activate_with(const ActivationFunction& function, std::span<const float> given) {
  activation = static_cast<int>(&function - activation_table().data());
  check(given.size() == std::size(args), "an epilogue has room for all arguments");
  std::copy(given.begin(), given.end(), args);
  form = Form::kOther;
  if (function.name == "relu" || function.name == "relu6") {
    form = Form::kClamp;
    high = function.name == "relu6" ? args[0] : std::numeric_limits<float>::infinity();
  } else if (function.name == "hard_swish") {
    form = Form::kHardSwish;
  }
}

float Epilogue::activate(float x) const {
  if (activation < 0) return x;
  return activation_table()[static_cast<std::size_t>(activation)].value(x, std::to_array(args));
}

Epilogue read_epilogue(const Node& node, const Tensor* out_scale) {
  Epilogue epilogue;
  if (auto name = attr<std::string>(node, "activation"); !name.empty()) {
    const ActivationFunction* function = find_activation(name);
    check(function != nullptr, "the op table has checked the name of the activation");
    auto given = attr<std::vector<double>>(node, "activation_args");
    epilogue.activate_with(*function, activation_args(*function, given));
  }
  if (out_scale) {
    epilogue.quantizes = true;
    epilogue.quantizer = Quantizer(quantization_of(node, *out_scale, nullptr));
  }
  return epilogue;
}

}  // namespace octet
