#include "kernels/ref/activation.h"

#include "kernels/blocks.h"
#include "kernels/ref/ref.h"

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
  map(args, [](float x) { return std::fabs(x); });
}

void gelu(const KernelArgs& args) {
  attr<bool>(args.node, "approximate") ? map(args, gelu_tanh_of) : map(args, gelu_of);
}

void clip(const KernelArgs& args) {
  float low = attr_or_input(args, "min"), high = attr_or_input(args, "max");
  map(args, [=](float x) { return clamp_to(x, low, high); });
}

void dropout(const KernelArgs& args) {
  bool scaled = attr<std::string>(args.node, "mode") == "downgrade_in_infer";
  float keep = scaled ? 1.0f - attr<float>(args.node, "p") : 1.0f;
  map(args, [=](float x) { return x * keep; });
}

}  // namespace octet::ref
