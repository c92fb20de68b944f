#include "kernels/epilogue.h"

#include <limits>

#include "graph/quantization.h"

namespace octet {

void Epilogue::activate_with(const ActivationFunction& function, const ActivationArgs& given) {
  activation = static_cast<int>(&function - activation_table().data());
  args = given;
  form = Form::kOther;
  if (function.name == "relu" || function.name == "relu6") {
    form = Form::kClamp;
    high = function.name == "relu6" ? args[0] : std::numeric_limits<float>::infinity();
  } else if (function.name == "hard_swish") {
    form = Form::kHardSwish;
  }
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
