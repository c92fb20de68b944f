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

float attr_or_input(const KernelArgs& args, std::string_view name, std::size_t i) {
  return args.input(i) ? args.input(i)->data<float>()[0] : attr<float>(args.node, name);
}

}  // namespace

void relu(const KernelArgs& args) {
  map(args, relu_of);
}

void sigmoid(const KernelArgs& args) {
  map(args, sigmoid_of);
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

void relu6(const KernelArgs& args) {
  float threshold = attr<float>(args.node, "threshold");
  map(args, [=](float x) { return relu6_of(x, threshold); });
}

void leaky_relu(const KernelArgs& args) {
  float alpha = attr<float>(args.node, "alpha");
  map(args, [=](float x) { return leaky_relu_of(x, alpha); });
}

void hard_sigmoid(const KernelArgs& args) {
  float slope = attr<float>(args.node, "slope"), offset = attr<float>(args.node, "offset");
  map(args, [=](float x) { return hard_sigmoid_of(x, slope, offset); });
}

void hard_swish(const KernelArgs& args) {
  float threshold = attr<float>(args.node, "threshold"), scale = attr<float>(args.node, "scale"),
        offset = attr<float>(args.node, "offset");
  map(args, [=](float x) { return hard_swish_of(x, threshold, scale, offset); });
}

void swish(const KernelArgs& args) {
  float beta = attr<float>(args.node, "beta");
  map(args, [=](float x) { return swish_of(x, beta); });
}

void gelu(const KernelArgs& args) {
  attr<bool>(args.node, "approximate") ? map(args, gelu_tanh_of) : map(args, gelu_of);
}

void clip(const KernelArgs& args) {
  float low = attr_or_input(args, "min", 1), high = attr_or_input(args, "max", 2);
  map(args, [=](float x) { return clamp_to(x, low, high); });
}

void dropout(const KernelArgs& args) {
  bool scaled = attr<std::string>(args.node, "mode") == "downgrade_in_infer";
  float keep = scaled ? 1.0f - attr<float>(args.node, "p") : 1.0f;
  map(args, [=](float x) { return x * keep; });
}

}  // namespace octet::ref
