#include "kernels/ref/activation.h"

#include "kernels/blocks.h"
#include "kernels/ref/ref.h"
#include "kernels/ref/typed.h"

namespace octet::ref {

namespace {

// y[i] = function(x[i]).
template <class Function>
void map(const KernelArgs& args, const Function& function) {
  const float* x = args.inputs[0]->data<float>().data();
  float* y = args.outputs[0].mutable_data<float>().data();
  for_blocks(args.pool, args.outputs[0].size(), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) y[i] = function(x[i]);
  });
}

// The same for every dtype that octet computes with.
template <class Function>
void map_numbers(const KernelArgs& args, const Function& function) {
  with_number(args.inputs[0]->dtype(), [&]<class T>() {
    const T* x = args.inputs[0]->data<T>().data();
    T* y = args.outputs[0].mutable_data<T>().data();
    for_blocks(args.pool, args.outputs[0].size(), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) y[i] = function(x[i]);
    });
  });
}

float attr_or_input(const KernelArgs& args, std::string_view name) {
  const Tensor* given = args.input(name);
  return given ? given->data<float>()[0] : attr<float>(args.node, name);
}

}  // namespace

void activate(const KernelArgs& args) {
  const ActivationFunction* function = find_activation(args.node.op);
  check(function != nullptr, "the op is a row of the activation table");
  ActivationArgs given = activation_args(*function, args.node);
  map(args, [&](float x) { return function->value(x, given); });
}

void tanh(const KernelArgs& args) {
  map(args, tanh_of);
}

void exp(const KernelArgs& args) {
  map(args, exp_of);
}

void sqrt(const KernelArgs& args) {
  map(args, [](float x) { return std::sqrt(x); });
}

void abs(const KernelArgs& args) {
  map_numbers(args, []<class T>(T x) {
    if constexpr (std::is_floating_point_v<T>)
      return std::fabs(x);
    else  // the least integer stays as it is
      return x < 0 ? static_cast<T>(0 - static_cast<std::uint64_t>(x)) : x;
  });
}

void sign(const KernelArgs& args) {
  map_numbers(args, []<class T>(T x) { return x > 0 ? T(1) : x < 0 ? T(-1) : x == 0 ? T(0) : x; });
}

void log(const KernelArgs& args) {
  map(args, [](float x) { return static_cast<float>(log_of(x)); });
}

void floor(const KernelArgs& args) {
  map(args, [](float x) { return std::floor(x); });
}

void ceil(const KernelArgs& args) {
  map(args, [](float x) { return std::ceil(x); });
}

void round(const KernelArgs& args) {
  map(args, [](float x) { return std::nearbyint(x); });
}

void erf(const KernelArgs& args) {
  map(args, erf_of);
}

void softplus(const KernelArgs& args) {
  map(args, softplus_of);
}

void mish(const KernelArgs& args) {
  map(args, mish_of);
}

void elu(const KernelArgs& args) {
  float alpha = attr<float>(args.node, "alpha");
  map(args, [=](float x) { return elu_of(x, alpha); });
}

void gelu(const KernelArgs& args) {
  attr<bool>(args.node, "approximate") ? map(args, gelu_tanh_of) : map(args, gelu_of);
}

void clip(const KernelArgs& args) {
  if (args.inputs[0]->dtype() == DType::kFloat32) {
    float low = attr_or_input(args, "min"), high = attr_or_input(args, "max");
    return map(args, [=](float x) { return clamp_to(x, low, high); });
  }
  auto bound = [&](std::string_view name) {
    const Tensor* given = args.input(name);
    Tensor value = given ? *given : Tensor::scalar(attr<double>(args.node, name));
    return value.cast(args.inputs[0]->dtype());
  };
  Tensor low = bound("min"), high = bound("max");
  map_numbers(args, [&]<class T>(T x) {
    T above = x > low.data<T>()[0] ? x : low.data<T>()[0];
    return above < high.data<T>()[0] ? above : high.data<T>()[0];
  });
}

void dropout(const KernelArgs& args) {
  bool scaled = attr<std::string>(args.node, "mode") == "downgrade_in_infer";
  float keep = scaled ? 1.0f - attr<float>(args.node, "p") : 1.0f;
  map(args, [=](float x) { return x * keep; });
}

}  // namespace octet::ref
