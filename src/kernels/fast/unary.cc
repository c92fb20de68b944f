#include "graph/activation.h"
#include "kernels/epilogue.h"
#include "kernels/fast/layout.h"
#include "kernels/ref/ref.h"

namespace octet::fast {
namespace {

// run(x, y, count) for blocks of the tensor.
template <class Run>
void map_blocks(const KernelArgs& args, const Run& run) {
  const float* x = args.inputs[0]->data<float>().data();
  float* y = args.outputs[0].mutable_data<float>().data();
  for_blocks(args.pool, args.outputs[0].size(),
             [&](std::int64_t begin, std::int64_t end) { run(x + begin, y + begin, end - begin); });
}

// An activation function as an op.
void activate(const KernelArgs& args) {
  const ActivationFunction* function = find_activation(args.node.op);
  check(function != nullptr, "the op is a row of the activation table");
  Epilogue epilogue;
  epilogue.activate_with(*function, activation_args(*function, args.node));
  map_blocks(args, [&](const float* x, float* y, std::int64_t count) {
    args.simd->unary.activate(epilogue, x, y, count);
  });
}

void map(const KernelArgs& args, simd::Unary function, float a = 0, float b = 0) {
  map_blocks(args, [&](const float* x, float* y, std::int64_t count) {
    args.simd->unary.map(function, a, b, x, y, count);
  });
}

template <simd::Unary kFunction>
void plain_map(const KernelArgs& args) {
  map(args, kFunction);
}

float attr_or_input(const KernelArgs& args, std::string_view name) {
  const Tensor* given = args.input(name);
  return given ? given->data<float>()[0] : attr<float>(args.node, name);
}

void clip(const KernelArgs& args) {
  map(args, simd::Unary::kClip, attr_or_input(args, "min"), attr_or_input(args, "max"));
}

void dropout(const KernelArgs& args) {
  bool scaled = attr<std::string>(args.node, "mode") == "downgrade_in_infer";
  map(args, simd::Unary::kMultiply, scaled ? 1.0f - attr<float>(args.node, "p") : 1.0f);
}

void scale(const KernelArgs& args) {
  float factor = attr_or_input(args, "scale"), bias = attr<float>(args.node, "bias");
  attr<bool>(args.node, "bias_after_scale") ? map(args, simd::Unary::kMultiplyAdd, factor, bias)
                                            : map(args, simd::Unary::kAddMultiply, bias, factor);
}

bool is_float(const PrepareArgs& args) {
  return args.value("x")->dtype == DType::kFloat32;
}

bool is_approximate(const PrepareArgs& args) {
  return attr<bool>(args.node, "approximate");
}

}  // namespace

std::vector<Implementation> unary() {
  auto row = [](std::string_view op, Kernel kernel, bool (*fits)(const PrepareArgs&) = nullptr) {
    return Implementation{
        .op = op, .name = "vector", .layout = LayoutNeed::kSame, .run = kernel, .fits = fits, .in_place = 0};
  };
  // Where each element is for itself, or only the shape is looked at, the reference is right in any layout.
  auto reference = [](std::string_view op) {
    return Implementation{.op = op, .name = "ref", .layout = LayoutNeed::kSame, .run = ref::find(op)->run};
  };
  std::vector<Implementation> rows = {row("tanh", plain_map<simd::Unary::kTanh>),
                                      row("exp", plain_map<simd::Unary::kExp>),
                                      row("sqrt", plain_map<simd::Unary::kSqrt>),
                                      row("abs", plain_map<simd::Unary::kAbs>, is_float),
                                      row("gelu", plain_map<simd::Unary::kGeluTanh>, is_approximate),
                                      row("gelu", plain_map<simd::Unary::kGelu>),
                                      row("erf", plain_map<simd::Unary::kErf>),
                                      row("clip", clip, is_float),
                                      row("dropout", dropout),
                                      row("scale", scale, is_float),
                                      reference("abs"),
                                      reference("clip"),
                                      reference("elu"),
                                      reference("softplus"),
                                      reference("mish"),
                                      reference("log"),
                                      reference("sign"),
                                      reference("floor"),
                                      reference("ceil"),
                                      reference("round"),
                                      reference("scale"),
                                      reference("cast"),
                                      reference("identity"),
                                      reference("observe"),
                                      reference("shape")};
  for (const ActivationFunction& function : activation_table()) rows.push_back(row(function.name, activate));
  return rows;
}

}  // namespace octet::fast
