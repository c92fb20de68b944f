#include "graph/activation.h"

#include <algorithm>
#include <limits>

namespace octet {

namespace {

using Args = ActivationArgs;

constexpr double kNoBound = -std::numeric_limits<double>::infinity();

double zero(const Args&) {
  return 0;
}

constexpr ActivationFunction kTable[] = {
    {.name = "relu",
     .value = [](float x, const Args&) { return relu_of(x); },
     .gradient = [](float x, const Args&) { return x > 0 ? 1.0f : 0.0f; },
     .least = zero,
     .selects = true,
     .homogeneous = true},
    {.name = "relu6",
     .params = {{{"threshold", 6.0}}},
     .value = [](float x, const Args& a) { return relu6_of(x, a[0]); },
     .gradient = [](float x, const Args& a) { return x > 0 && x < a[0] ? 1.0f : 0.0f; },
     .least = [](const Args& a) { return std::min(0.0, static_cast<double>(a[0])); }},
    {.name = "hard_swish",
     .params = {{{"threshold", 6.0}, {"scale", 6.0}, {"offset", 3.0}}},
     .value = [](float x, const Args& a) { return hard_swish_of(x, a[0], a[1], a[2]); },
     .gradient =
         [](float x, const Args& a) {
           if (x + a[2] <= 0) return 0.0f;
           return x + a[2] >= a[0] ? a[0] / a[1] : (2 * x + a[2]) / a[1];
         },
     .least =
         [](const Args& a) {
           return a == Args{6, 6, 3} ? -0.37501 : kNoBound;
         }},
    {.name = "hard_sigmoid",
     .params = {{{"slope", 0.2}, {"offset", 0.5}}},
     .value = [](float x, const Args& a) { return hard_sigmoid_of(x, a[0], a[1]); },
     .gradient =
         [](float x, const Args& a) {
           float y = a[0] * x + a[1];
           return y > 0 && y < 1 ? a[0] : 0.0f;
         },
     .least = zero},
    {.name = "swish",
     .params = {{{"beta", 1.0}}},
     .value = [](float x, const Args& a) { return swish_of(x, a[0]); },
     .gradient =
         [](float x, const Args& a) {
           float s = sigmoid_of(a[0] * x);
           return s * (1 + a[0] * x * (1 - s));
         },
     .least = [](const Args& a) { return a[0] == 1 ? -0.27847 : kNoBound; }},
    {.name = "sigmoid",
     .value = [](float x, const Args&) { return sigmoid_of(x); },
     .gradient =
         [](float x, const Args&) {
           float s = sigmoid_of(x);
           return s * (1 - s);
         },
     .least = zero,
     .precision = MixedPrecision::kFloat},
    {.name = "leaky_relu",
     .params = {{{"alpha", 0.02}}},
     .value = [](float x, const Args& a) { return leaky_relu_of(x, a[0]); },
     .gradient = [](float x, const Args& a) { return x > 0 ? 1.0f : a[0]; },
     .least = [](const Args&) { return kNoBound; },
     .homogeneous = true},
};

}  // namespace

std::size_t ActivationFunction::param_count() const {
  return static_cast<std::size_t>(std::count_if(
      params.begin(), params.end(), [](const ActivationParam& param) { return !param.name.empty(); }));
}

std::span<const ActivationFunction> activation_table() {
  return kTable;
}

const ActivationFunction* find_activation(std::string_view name) {
  auto row = std::find_if(std::begin(kTable), std::end(kTable),
                          [&](const ActivationFunction& f) { return f.name == name; });
  return row == std::end(kTable) ? nullptr : row;
}

ActivationArgs activation_args(const ActivationFunction& function, const Node& node) {
  Args args{};
  for (std::size_t i = 0; i < function.param_count(); ++i)
    args[i] = attr<float>(node, function.params[i].name);
  return args;
}

ActivationArgs activation_args(const ActivationFunction& function, std::span<const double> given) {
  Args args{};
  check(given.empty() || given.size() == function.param_count(),
        "check_attributes has counted activation_args");
  for (std::size_t i = 0; i < function.param_count(); ++i)
    args[i] = static_cast<float>(given.empty() ? function.params[i].default_value : given[i]);
  return args;
}

}  // namespace octet
